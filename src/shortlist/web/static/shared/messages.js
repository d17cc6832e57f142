// Messages about what a person just did. Their places are live regions that stand in the page from the start.

import { capital } from "./words.js";

/** An error or a text as a sentence. */
export function sentence(message) {
  const words = capital(String(message instanceof Error ? message.message : message).trim());
  return /[.!?…]$/.test(words) ? words : `${words}.`;
}

export function tell(place, words) {
  place.classList.remove("error");
  place.textContent = words;
}

export function complain(place, error) {
  place.classList.add("error");
  place.textContent = ""; // the same sentence again is a new message
  place.textContent = sentence(error);
}

export const hush = (place) => tell(place, "");
