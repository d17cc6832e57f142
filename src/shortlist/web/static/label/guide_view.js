// The guide: guidelines, and of the classes that are shown their descriptions and examples.

import { ApiError } from "../shared/api.js";
import { byId as $, make } from "../shared/elements.js";
import { features } from "../shared/item_view.js";
import { formatted } from "../shared/markdown.js";
import { capital } from "../shared/words.js";

const CLASSES = 30; // as the server has it
const EXAMPLES = 3; // of a class

export class GuideView {
  #turn = 0; // of what is shown: what comes late must not take the place of the next

  constructor(api) {
    this.api = api;
  }

  /** @param asked the key of the item that is asked about, which is no example */
  async show(classes, names, asked) {
    const turn = ++this.#turn;
    $("guide-words").textContent = "Loading…";
    $("guide-guidelines").replaceChildren();
    $("guide-classes").replaceChildren();
    try {
      const guide = await this.api.guide(classes.slice(0, CLASSES));
      if (turn === this.#turn) this.#fill(guide, names, asked);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (turn === this.#turn) $("guide-words").textContent = `${capital(error.message)}.`;
    }
  }

  #fill({ guidelines, classes }, names, asked) {
    $("guide-words").textContent = "";
    $("guide-guidelines").replaceChildren(...(guidelines ? formatted(guidelines.text, guidelines.markdown) : []));
    $("guide-classes").replaceChildren(...classes.map((one) => entry(one, names[one.cls], asked)));
  }
}

function entry({ description, examples, labelled }, name, asked) {
  const shown = examples.filter(({ key }) => key !== asked).slice(0, EXAMPLES);
  const source = labelled && shown.length ? make("p", { class: "hint" }, "Labelled so by people:") : null;
  const list = shown.length ? make("ul", { class: "examples" }, ...shown.map((one) => make("li", {}, example(one, name)))) : null;
  const nothing = description || shown.length ? null : make("p", { class: "hint" }, "Nothing is known of it yet.");
  return make("section", { class: "guide-class" }, make("h3", {}, name), description ? make("p", { class: "guide-about" }, description) : null, source, list, nothing);
}

function example(one, name) {
  if (one.kind === "image") return make("img", { src: one.src, alt: `Example of ${name}`, loading: "lazy" });
  return one.kind === "text" ? make("q", {}, one.text) : features(one);
}
