// The question on the page: prompt, options as buttons or search, and the answer one gave before.

import { OPTION_KEYS, answerInWords, NONE } from "./question.js";
import { SearchBox } from "./search_box.js";
import * as words from "./words.js";

const $ = (id) => document.getElementById(id);
const TWO_COLUMNS = 10; // so many options no longer fit below each other
const TWO_COLUMNS_LOW = 5; // nor so many in a low window: an option that has to be scrolled to is read too late

export class Desk {
  /** @param on {choose(cls), none()} */
  constructor(on) {
    this.on = on;
    this.root = $("desk");
    this.options = $("options");
    this.prompt = $("prompt");
    this.input = $("query");
    this.search = new SearchBox({
      root: $("search"),
      input: this.input,
      list: $("hits"),
      counter: $("hits-count"),
      onPick: on.choose,
      onLeave: () => this.prompt.focus({ preventScroll: true }),
    });
    this.options.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) on.choose(Number(button.dataset.cls));
    });
    $("none").addEventListener("click", on.none);
  }

  /** A stage of the question. `before`: the answer it had, when one has gone back to it. */
  show(sitting, index, before) {
    const hadFocus = this.#ownsFocus();
    this.prompt.textContent = words.prompt(sitting);
    $("hint").textContent = words.hint(sitting);
    $("none-words").textContent = words.noneWords(sitting);
    $("none").classList.toggle("standing", before?.path[sitting.stage] === NONE);
    this.#review(before, index.names);
    const standing = before?.path[sitting.stage] ?? null;
    if (sitting.asButtons) this.#buttons(sitting, index.names, standing);
    else this.#search(sitting, index, standing);
    this.#notAny(sitting);
    this.noted(sitting.note);
    this.#focus(sitting, hadFocus);
  }

  /** Until the item can be seen there is nothing to answer. */
  seen(ready) {
    this.root.dataset.ready = String(ready);
    this.root.setAttribute("aria-busy", String(!ready));
  }

  get isReady() {
    return this.root.dataset.ready === "true";
  }

  noted(note) {
    $("note-words").textContent = note ? "Note ✓" : "Note";
  }

  last(answer, key, names) {
    $("last").textContent = answer ? `Last: ${answerInWords(answer, names)}` : "";
    $("last").title = key ?? "";
  }

  #review(before, names) {
    $("review").hidden = !before;
    if (before) $("review-words").textContent = `You said: ${answerInWords(before, names)}. Change it, or:`;
  }

  #buttons(sitting, names, standing) {
    this.search.close();
    this.options.hidden = false;
    this.options.classList.toggle("many", sitting.shown.length >= TWO_COLUMNS);
    this.options.classList.toggle("several", sitting.shown.length >= TWO_COLUMNS_LOW);
    this.options.replaceChildren(...sitting.shown.map((cls, at) => option(cls, names[cls], at, cls === standing)));
    this.options.parentElement.scrollTop = 0;
  }

  #search(sitting, index, standing) {
    this.options.hidden = true;
    this.options.replaceChildren();
    $("query-label").textContent = `Find the class: ${words.hint(sitting)}`;
    this.search.open(index, sitting.shown, standing);
  }

  // Where nothing follows the last list, "None" says all that can be said; in the rest, 0 and X mean the same
  #notAny(sitting) {
    document.querySelector('[data-action="nothing"]').disabled = !sitting.question.exhaustive;
  }

  #ownsFocus() {
    const { activeElement: at } = document;
    return !at || at === document.body || $("ask").contains(at) || at.closest(".interlude") !== null;
  }

  #focus(sitting, hadFocus) {
    if (!hadFocus) return;
    const goal = sitting.asButtons ? this.prompt : this.input;
    goal.focus({ preventScroll: true });
  }
}

function option(cls, name, at, standing) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = standing ? "option standing" : "option";
  button.dataset.cls = cls;
  button.setAttribute("aria-keyshortcuts", OPTION_KEYS[at].toUpperCase());
  const key = document.createElement("kbd");
  key.textContent = OPTION_KEYS[at].toUpperCase();
  const label = document.createElement("span");
  label.className = "option-name";
  label.textContent = name;
  button.append(key, label);
  if (standing) button.append(yours());
  return button;
}

function yours() {
  const tag = document.createElement("span");
  tag.className = "yours";
  tag.textContent = "your answer";
  return tag;
}
