// A secret that is shown once: a field to select from, and a button that copies it.

import { button, make } from "./elements.js";

/** Replaces what is in `place`; the focus goes to the button, so that Enter copies. */
export function showOnce(place, { label, text, hint }) {
  const field = make("input", { type: "text", readonly: true, id: `${place.id}-text`, class: "secret", spellcheck: "false" });
  field.value = text;
  field.addEventListener("focus", () => field.select());
  const told = make("p", { role: "status", class: "hint told" }, hint);
  const copy = button("Copy", () => copyFrom(field, told), "button primary");
  place.replaceChildren(
    make("div", { class: "once" }, make("label", { for: field.id }, label), make("div", { class: "beside" }, field, copy), told),
  );
  place.hidden = false;
  copy.focus();
}

async function copyFrom(field, told) {
  field.select();
  told.textContent = "";
  told.textContent = (await copied(field.value)) ? "Copied." : "Press Ctrl C (⌘ C) to copy what is selected.";
}

/** Browsers only lend the clipboard to pages on localhost or https. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}
