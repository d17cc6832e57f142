// The question on the page: prompt, options as buttons or search, and the answer one gave before.

import { button, byId as $, make } from "../shared/elements.js";
import { areDigits, noneKey, OPTION_KEYS } from "../shared/keys.js";
import { aboutOf, SearchBox } from "../shared/search_box.js";
import { answerInWords, NONE } from "../shared/stages.js";
import * as words from "../shared/words.js";

const TWO_COLUMNS = 10; // so many options no longer fit below each other
const TWO_COLUMNS_LOW = 5; // nor so many in a low window: an option that has to be scrolled to is read too late

export class QuestionView {
  /** @param on {choose(cls), none()} */
  constructor(on) {
    this.on = on;
    this.root = $("question");
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
      keys: OPTION_KEYS.slice(0, 9),
    });
    this.options.addEventListener("click", (event) => {
      const option = event.target.closest("button");
      if (option) on.choose(Number(option.dataset.cls));
    });
    $("none").addEventListener("click", on.none);
  }

  /** The stage that the walk is at, with one's earlier answer where one has gone back to it. */
  show(walk, index) {
    const hadFocus = this.ownsFocus;
    this.prompt.textContent = words.prompt(walk);
    this.#order(walk);
    $("none").hidden = !walk.hasNone;
    $("none").querySelector("kbd").textContent = noneKey(index.names).toUpperCase();
    $("none").classList.toggle("standing", walk.before === NONE);
    this.#review(walk.question.answer, index.names);
    if (walk.asButtons) this.#buttons(walk, index);
    else this.#search(walk, index);
    this.#notAny(walk);
    this.noted(walk.note);
    this.#focus(walk, hadFocus);
  }

  /** The same classes, by name or most probable first. */
  reorder(walk, index) {
    this.#order(walk);
    if (walk.asButtons) this.#buttons(walk, index);
    else this.search.reorder(walk.shown);
  }

  #order(walk) {
    $("hint").textContent = words.hint(walk);
    $("order").hidden = !walk.hasOrders;
    $("order-words").textContent = words.capital(words.orderOf(!walk.byName));
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

  #buttons(walk, index) {
    const { names } = index;
    this.search.close();
    this.options.hidden = false;
    this.options.classList.toggle("many", walk.shown.length >= TWO_COLUMNS);
    this.options.classList.toggle("several", walk.shown.length >= TWO_COLUMNS_LOW);
    const keys = areDigits(names) ? walk.shown.map((cls) => names[cls]) : OPTION_KEYS;
    this.options.replaceChildren(...walk.shown.map((cls, at) => option(index, cls, keys[at], cls === walk.before)));
    this.options.parentElement.scrollTop = 0;
  }

  #search(walk, index) {
    this.options.hidden = true;
    this.options.replaceChildren();
    $("query-label").textContent = `Find the class: ${words.hint(walk)}`;
    this.search.open(index, walk.shown, walk.before);
  }

  // Where nothing follows the last list, "None" says all that can be said
  #notAny(walk) {
    document.querySelector('[data-action="nothing"]').disabled = !walk.canSayNothing;
  }

  /** Who is in the menu, about to sign out, stays there whatever comes. */
  get ownsFocus() {
    const { activeElement: at } = document;
    return !at || at === document.body || $("ask").contains(at) || at.closest(".screen") !== null;
  }

  #focus(walk, hadFocus) {
    if (!hadFocus) return;
    const goal = walk.asButtons ? this.prompt : this.input;
    goal.focus({ preventScroll: true });
  }
}

function option(index, cls, keyAlone, standing) {
  const key = keyAlone.toUpperCase();
  const name = make("span", { class: "option-name" }, index.names[cls]);
  const parts = [make("kbd", {}, key), make("span", { class: "named" }, name, aboutOf(index, cls)), standing ? make("span", { class: "yours" }, "your answer") : null];
  return button(parts, null, standing ? "option standing" : "option", { "data-cls": cls, "aria-keyshortcuts": key });
}
