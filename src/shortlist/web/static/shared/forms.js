// Forms that are sent without leaving the page: once at a time, and what went wrong is said beside them.

import { complain, hush } from "./messages.js";

/** `act` gets the fields by their names. It may throw an Error (told in `place`) or a Misfit (its field is focused). */
export function onSubmit(form, place, act) {
  const sender = form.querySelector("[type=submit]");
  form.noValidate = true; // our own sentences, which a screen reader is told of
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sender.disabled) return;
    hush(place);
    forget(form);
    sender.disabled = true;
    try {
      await act(Object.fromEntries(new FormData(form)), form);
    } catch (error) {
      sender.disabled = Boolean(form.dataset.waiting); // before the focus moves: it may go to the button
      complain(place, error);
      if (error instanceof Misfit) point(form.elements[error.field]);
    } finally {
      if (!form.dataset.waiting) sender.disabled = false;
    }
  });
}

/** A field's value will not do. */
export class Misfit extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

function point(field) {
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

function forget(form) {
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
}

export const SHORTEST = 8; // characters of a password, as the server has it

/** A new password that was typed twice. */
export function checkedPassword(password, again, names = ["password", "again"]) {
  if ([...password].length < SHORTEST) throw new Misfit(names[0], `Take at least ${SHORTEST} characters`);
  if (password !== again) throw new Misfit(names[1], "The two passwords differ; type the same one twice");
  return password;
}

export function required(fields, name, sentence) {
  if (!fields[name].trim()) throw new Misfit(name, sentence);
  return fields[name].trim();
}
