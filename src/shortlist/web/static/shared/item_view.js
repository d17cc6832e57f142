// The item: an image, a text or a vector, as large as there is room.

import { button, draw, make } from "./elements.js";

const RETRY = 2_000; // milliseconds
const GROWN = 400; // pixels that a smaller image is enlarged to
const LENGTHS = { short: 120, middle: 600 }; // letters, up to which a text is set larger

/** A question with its item fetched and decoded before it is shown. */
export function prepare(question) {
  const { item } = question;
  if (item.kind !== "image") return { question, image: null, ready: Promise.resolve() };
  const image = new Image();
  image.alt = `Item ${item.key}`;
  image.draggable = false;
  image.src = item.src;
  const ready = image.decode();
  ready.catch(() => {}); // reported when it is shown
  return { question, image, ready };
}

export class ItemView {
  #turn = 0; // of what is shown: a picture that comes late must not disturb the next one

  /** @param lens to look closer with, where there is one */
  constructor({ body, caption, lens = null, onSetAside, onAgain }) {
    this.body = body;
    this.caption = caption;
    this.lens = lens;
    this.onSetAside = onSetAside;
    this.onAgain = onAgain;
  }

  /** Resolves to true when the item can be seen, false when it cannot; null when another has taken its place. */
  async show(prepared) {
    const turn = ++this.#turn;
    const { item } = prepared.question;
    this.caption.textContent = item.key;
    this.body.dataset.kind = item.kind;
    this.lens?.over(null);
    if (item.kind === "image") return this.#image(prepared, turn);
    this.body.replaceChildren(item.kind === "text" ? text(item) : features(item));
    return true;
  }

  /** Scrolls a long text, or looks closer at a picture; false where the key says nothing about the item. */
  key(key) {
    return this.#scroll(key) || Boolean(this.lens?.key(key));
  }

  #scroll(key) {
    const area = this.body.querySelector(".item-text");
    if (!area || area.scrollHeight <= area.clientHeight) return false; // nothing to scroll
    const page = area.clientHeight * 0.85;
    const step = { ArrowDown: 56, ArrowUp: -56, PageDown: page, PageUp: -page }[key];
    if (step) area.scrollBy({ top: step });
    return Boolean(step);
  }

  async #image(prepared, turn) {
    const { image } = prepared;
    if (!image.complete) this.body.replaceChildren(line("item-loading", "Loading…"));
    try {
      if (!(image.complete && image.naturalWidth > 0)) await prepared.ready;
    } catch {
      return this.#without(prepared, turn);
    }
    if (turn !== this.#turn) return null;
    const [width, height] = [image.naturalWidth, image.naturalHeight];
    const grown = Math.max(1, GROWN / Math.max(width, height));
    image.style.setProperty("--width", `${grown * width}px`);
    image.style.setProperty("--height", `${grown * height}px`);
    this.body.replaceChildren(image);
    this.lens?.over(image);
    return true;
  }

  /** No picture has come. The server says whether there is one; if it says nothing, it is asked again. */
  async #without(prepared, turn) {
    while (turn === this.#turn) {
      const status = await fetch(prepared.image.src, { cache: "no-store" }).then((got) => got.status, () => 0);
      if (turn !== this.#turn) return null;
      if (status === 404 || (status === 200 && prepared.again)) {
        this.#failed();
        return false;
      }
      if (status === 200) return this.show({ ...prepare(prepared.question), again: true });
      this.body.replaceChildren(line("item-loading", "No connection. The picture comes as soon as the server answers again."));
      await new Promise((done) => setTimeout(done, RETRY));
    }
    return null;
  }

  #failed() {
    const again = button("Try again", this.onAgain, "button quiet");
    const aside = this.onSetAside ? button("Cannot read it: set it aside", this.onSetAside, "button primary") : null;
    this.body.replaceChildren(make("div", { class: "item-failed" }, line("", "This image cannot be shown."), again, aside));
  }
}

/** Long texts are scrolled by keys, so they can have the focus. */
function text(item) {
  const length = Object.keys(LENGTHS).find((name) => item.text.length <= LENGTHS[name]) ?? "long";
  const name = `Text of item ${item.key}`;
  return make("div", { class: `item-text ${length}`, tabindex: "0", role: "region", "aria-label": name }, item.text);
}

/** A vector as a strip of bars around zero. */
export function features(item) {
  const values = item.values.map(Number);
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const range = values.length ? `from ${short(Math.min(...values))} to ${short(Math.max(...values))}` : "";
  return draw(
    "svg",
    {
      viewBox: `0 -1 ${Math.max(values.length, 1)} 2`, preserveAspectRatio: "none", class: "item-features", role: "img",
      "aria-label": `Item ${item.key}: ${values.length} numbers ${range}`,
    },
    bars(values, most, 1, "above"), bars(values, most, -1, "below"), draw("path", { class: "zero", d: `M0 0H${values.length}` }),
  );
}

function bars(values, most, sign, name) {
  const bar = (value, at) => (value * sign > 0 ? `M${at + 0.1} 0V${-value / most}h0.8V0z` : "");
  return draw("path", { class: name, d: values.map(bar).join("") });
}

const short = (x) => Number(x.toPrecision(3));

const line = (name, words) => make("p", { class: name }, words);
