// What is said back to whoever did something. The places are live regions that stand in the page from the start.

import { capital } from "./words.js";

/** An error's or the server's own words as a sentence. */
export function sentence(said) {
  const words = capital(String(said instanceof Error ? said.message : said).trim());
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
