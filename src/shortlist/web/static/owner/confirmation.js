// "Are you sure?" as a dialog of our own: a promise of yes or no. The focus returns to where it was.

import { button, make } from "../shared/elements.js";

export function confirmed({ title, words, yes }) {
  return new Promise((resolve) => {
    const from = document.activeElement;
    const cancel = button("Cancel", () => dialog.close(), "button");
    const go = button(yes, () => dialog.close("yes"), "button primary");
    const dialog = make(
      "dialog",
      { class: "dialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-words" },
      make("h2", { id: "confirm-title" }, title),
      make("p", { id: "confirm-words" }, words),
      make("div", { class: "dialog-buttons" }, cancel, go),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      from?.focus();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus(); // Enter by accident changes nothing
  });
}
