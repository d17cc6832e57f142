// The bar above: figures, what is happening, whether everything is saved; and notices.

import { button, byId as $, make } from "../shared/elements.js";
import * as words from "../shared/words.js";

export class Bar {
  constructor(onSaveNow) {
    $("save-now").addEventListener("click", onSaveNow);
  }

  /** @param progress the server's; `fresh` answers are still on their way to it */
  show(progress, { fresh, ahead, speed }) {
    if (!progress) return;
    const done = Math.min(progress.items, progress.items_done + fresh);
    const left = progress.items - done; // of the dataset
    set("figure-done", words.count(done));
    set("figure-left", words.count(left));
    set("figure-speed", speed ? `${words.amount(speed)} / min` : "– / min");
    set("figure-saved", words.saved(progress));
    const measured = progress.accuracy !== null;
    $("figure-accuracy").parentElement.hidden = !measured;
    if (measured) set("figure-accuracy", `${words.amount(100 * progress.accuracy)} %`);
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
  const close = button("OK", () => box.remove(), "link", { "aria-label": "OK: put this notice away" });
  const box = make("p", { class: error ? "notice error" : "notice" }, sentence, close);
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

/** This session's speed: answers per active minute, across reloads of the tab. */
export class Speed {
  constructor(name) {
    this.key = `shortlist:session:${name}`;
    const stored = this.#read();
    this.answers = stored?.answers ?? 0;
    this.seconds = stored?.seconds ?? 0;
  }

  /** @param seconds active ones  @param again it corrects an earlier one: its seconds count, it is no answer more */
  add(answer, seconds, again) {
    this.seconds += seconds;
    if (answer.kind !== "skip" && !again) this.answers += 1;
    try {
      sessionStorage.setItem(this.key, JSON.stringify({ answers: this.answers, seconds: this.seconds }));
    } catch {
      // a private window: it counts from the last reload
    }
  }

  /** Answers per minute; 0: too few to tell. */
  get perMinute() {
    return this.answers && this.seconds > 0 ? (60 * this.answers) / this.seconds : 0;
  }

  #read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key));
    } catch {
      return null;
    }
  }
}
