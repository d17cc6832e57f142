// A secret that is shown once: a field to select from, and a button that copies it.

import { button, make } from "../shared/elements.js";

/** Replaces what is in `place`; the focus goes to the button, so that Enter copies. */
export function showOnce(place, { label, text, hint }) {
  const field = make("input", { type: "text", readonly: true, id: `${place.id}-text`, class: "secret", spellcheck: "false" });
  field.value = text;
  field.addEventListener("focus", () => field.select());
  const status = make("p", { role: "status", class: "hint status" }, hint);
  const copy = button("Copy", () => copyFrom(field, status), "button primary");
  place.replaceChildren(
    make("div", { class: "once" }, make("label", { for: field.id }, label), make("div", { class: "beside" }, field, copy), status),
  );
  place.hidden = false;
  copy.focus();
}

async function copyFrom(field, status) {
  field.select();
  status.textContent = "";
  status.textContent = (await copied(field.value)) ? "Copied." : "Press Ctrl C (⌘ C) to copy what is selected.";
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
