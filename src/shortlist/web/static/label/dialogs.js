// The note, the guide and the help. While one is open the stopwatch stands still.

import { byId as $ } from "../shared/elements.js";
import { OPTION_KEYS } from "../shared/keys.js";

const SINGLE_KEYS = "shortlist:single-keys";

/** @param on {opened(), closed(), note(text or null)} */
export class Dialogs {
  #from = null; // where the focus was

  constructor(on) {
    this.on = on;
    for (const dialog of [$("note-dialog"), $("guide-dialog"), $("help-dialog")]) {
      dialog.addEventListener("close", () => this.#closed());
    }
    $("note-form").addEventListener("submit", () => on.note($("note-text").value.trim() || null));
    $("note-cancel").addEventListener("click", () => $("note-dialog").close());
    $("note-text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("note-form").requestSubmit();
    });
    $("help-letters").textContent = OPTION_KEYS.slice(9).join(" ").toUpperCase();
    $("single-keys").checked = this.keysAlone;
    $("single-keys").addEventListener("change", (event) => remember(event.target.checked));
  }

  get open() {
    return document.querySelector("dialog[open]") !== null;
  }

  /** Whether keys work without Alt; some need them off, for speech input sends letters. */
  get keysAlone() {
    try {
      return localStorage.getItem(SINGLE_KEYS) !== "off";
    } catch {
      return true;
    }
  }

  note(text) {
    $("note-text").value = text ?? "";
    this.#show($("note-dialog"));
    $("note-text").focus();
  }

  guide() {
    this.#show($("guide-dialog"));
  }

  help() {
    this.#show($("help-dialog"));
  }

  #show(dialog) {
    this.#from = document.activeElement;
    this.on.opened();
    dialog.showModal();
  }

  #closed() {
    this.#from?.focus({ preventScroll: true });
    this.on.closed();
  }
}

function remember(alone) {
  try {
    localStorage.setItem(SINGLE_KEYS, alone ? "on" : "off");
  } catch {
    // a private window: it holds until the page is left
  }
}
