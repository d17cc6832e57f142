// The search field and its list of hits: a combobox.

import { make } from "./elements.js";
import { plural } from "./words.js";

const SHOWN = 50;

/** What a class is, in a line below its name; all of it where the pointer or the focus is. */
export function aboutOf(index, cls) {
  const about = index.about[cls];
  return about ? make("span", { class: "about", title: about }, about) : null;
}

export class SearchBox {
  #index = null;
  #candidates = [];
  #hits = [];
  #total = 0;
  #holds = false; // whether the first hit holds what was typed, or only comes near it
  #active = -1;
  #standing = null; // the class of one's own earlier answer

  /** @param keys of the first hits, where there are any */
  constructor({ root, input, list, counter, onPick, onLeave, keys = [] }) {
    Object.assign(this, { root, input, list, counter, onPick, onLeave, keys });
    input.addEventListener("input", () => this.#find());
    input.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
    list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.onPick(Number(row.dataset.cls));
    });
  }

  open(index, candidates, standing) {
    this.#index = index;
    this.#candidates = candidates;
    this.#standing = standing;
    this.root.hidden = false;
    this.input.value = "";
    this.#find();
  }

  /** The same classes in another order; what was typed stays. */
  reorder(candidates) {
    this.#candidates = candidates;
    this.#find();
  }

  /** The classes that are shown. */
  get hits() {
    return this.#hits;
  }

  /** Take the hit that has this key. */
  pick(at) {
    if (at < Math.min(this.keys.length, this.#hits.length)) this.onPick(this.#hits[at]);
  }

  close() {
    this.root.hidden = true;
    this.list.replaceChildren();
    this.input.setAttribute("aria-expanded", "false");
  }

  #find() {
    const query = this.input.value;
    ({ hits: this.#hits, total: this.#total, holds: this.#holds } = this.#index.search(query, this.#candidates, SHOWN));
    this.list.replaceChildren(...this.#hits.map((cls, at) => this.#row(cls, at, query)));
    this.list.scrollTop = 0;
    this.input.setAttribute("aria-expanded", String(this.#hits.length > 0));
    this.counter.textContent = this.#counted(query);
    this.root.dataset.alone = String(!query && !this.#index.hasNumbers); // whether a number alone takes a hit
    this.#activate(this.#holds ? 0 : -1); // Enter alone takes nothing by accident, and nothing that only comes near
  }

  #counted(query) {
    if (!this.#total) return "No class is called that.";
    if (query.trim() && !this.#holds) return `No class is called that; ${plural(this.#total, "comes", "come")} near. ↓ chooses.`;
    if (this.#total > this.#hits.length) return `${this.#hits.length} of ${this.#total.toLocaleString("en")} shown.`;
    return query.trim() ? `${this.#total} found.` : "";
  }

  #row(cls, at, query) {
    const state = cls === this.#standing ? "hit standing" : "hit";
    const fields = { id: `hit-${at}`, role: "option", class: state, "data-cls": cls, "aria-selected": "false" };
    const key = at < this.keys.length ? make("kbd", { "aria-hidden": "true" }, this.keys[at]) : null;
    const name = make("span", { class: "hit-name" }, this.#highlighted(cls, query));
    return make("li", fields, key, make("span", { class: "named" }, name, aboutOf(this.#index, cls)));
  }

  #highlighted(cls, query) {
    const name = this.#index.names[cls];
    const parts = [];
    let at = 0;
    for (const [from, to] of this.#index.matched(query, cls)) {
      parts.push(name.slice(at, from), make("mark", {}, name.slice(from, to)));
      at = to;
    }
    return [...parts, name.slice(at)];
  }

  #activate(at) {
    this.list.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = at;
    const row = this.list.children[at];
    if (!row) return this.input.removeAttribute("aria-activedescendant");
    row.setAttribute("aria-selected", "true");
    row.scrollIntoView({ block: "nearest" });
    return this.input.setAttribute("aria-activedescendant", row.id);
  }

  #key(event) {
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    const act = {
      Enter: () => event.repeat || (this.#active >= 0 && this.onPick(this.#hits[this.#active])),
      ArrowDown: () => this.#activate(Math.min(this.#active + 1, this.#hits.length - 1)),
      ArrowUp: () => this.#activate(Math.max(this.#active - 1, 0)),
      Escape: () => this.#escape(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  #escape() {
    if (!this.input.value) return this.onLeave();
    this.input.value = "";
    return this.#find();
  }
}
