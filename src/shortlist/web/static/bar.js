// The bar above: figures, what is happening, whether everything is saved; and notices.

import * as words from "./words.js";

const $ = (id) => document.getElementById(id);

export class Bar {
  constructor(onSaveNow) {
    $("save-now").addEventListener("click", onSaveNow);
  }

  /** @param progress the server's; `fresh` answers are still on their way to it */
  show(progress, { fresh, ahead, speed }) {
    if (!progress) return;
    const done = progress.done + fresh;
    const left = Math.max(0, progress.left - fresh);
    set("figure-done", words.count(done));
    set("figure-left", words.count(left));
    set("figure-speed", speed ? `${words.amount(speed)} / min` : "– / min");
    set("figure-saved", words.saved(progress));
    $("meter").value = done + left ? done / (done + left) : 0;
    set("doing", words.doing(progress, ahead));
    $("doing").classList.toggle("trouble", Boolean(progress.error));
  }

  saving(state) {
    $("saving").dataset.phase = state.phase;
    set("saving-words", words.saving(state));
    $("save-now").hidden = state.phase !== "offline";
    $("sign-in").hidden = state.phase !== "signed-out";
  }
}

/** Something one should know; it stays until it is put away, errors always, the rest for a while. */
export function notice(sentence, { error = false } = {}) {
  const box = document.createElement("p");
  box.className = error ? "notice error" : "notice";
  const close = document.createElement("button");
  close.type = "button";
  close.className = "link";
  close.textContent = "OK";
  close.setAttribute("aria-label", "OK: put this notice away");
  close.addEventListener("click", () => box.remove());
  box.append(document.createTextNode(sentence), close);
  $("notices").replaceChildren(...[...$("notices").children].slice(-2), box);
  if (!error) setTimeout(() => box.remove(), 6000);
}

/** For a screen reader alone. */
export function announce(sentence) {
  set("announce", sentence);
}

// Live regions speak when they are written to, also with the same words: write only what has changed
function set(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}
