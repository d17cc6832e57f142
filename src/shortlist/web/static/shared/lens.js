// Looking closer at a picture: zoom, pan and brightness, by keys and by pointer. Every picture starts whole; brightness
// stays, for pictures that are too dark seldom come alone.

import { make } from "./elements.js";

const STEP = 1.25; // of zoom and of brightness
const CLOSEST = 20;
const [DARKEST, BRIGHTEST] = [STEP ** -6, STEP ** 6];
const PAN = 60; // pixels a key moves

const KEYS = {
  "+": (lens) => lens.zoom(STEP),
  "=": (lens) => lens.zoom(STEP),
  "-": (lens) => lens.zoom(1 / STEP),
  _: (lens) => lens.zoom(1 / STEP),
  ",": (lens) => lens.brighten(1 / STEP),
  ".": (lens) => lens.brighten(STEP),
  Home: (lens) => lens.reset(),
  ArrowLeft: (lens) => lens.pan(PAN, 0),
  ArrowRight: (lens) => lens.pan(-PAN, 0),
  ArrowUp: (lens) => lens.pan(0, PAN),
  ArrowDown: (lens) => lens.pan(0, -PAN),
};

export class Lens {
  #image = null;
  #scale = 1;
  #light = 1;
  #at = [0, 0]; // pixels off the middle

  constructor(body) {
    this.body = body;
    this.words = make("p", { class: "item-lens", role: "status" });
    body.after(this.words);
    body.addEventListener("pointerdown", (event) => this.#grab(event));
    body.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /** From now on this picture; null: none. */
  over(image) {
    this.#image = image;
    [this.#scale, this.#at] = [1, [0, 0]];
    this.#apply();
  }

  /** Whether a key was for it. */
  key(key) {
    return Boolean(this.#image && KEYS[key]?.(this));
  }

  zoom(by) {
    this.#scale = Math.min(CLOSEST, Math.max(1, this.#scale * by));
    if (this.#scale < STEP ** 0.5) this.#scale = 1;
    return this.pan(0, 0) || this.#apply();
  }

  brighten(by) {
    this.#light = Math.min(BRIGHTEST, Math.max(DARKEST, this.#light * by));
    if (Math.abs(Math.log(this.#light)) < 0.01) this.#light = 1;
    return this.#apply();
  }

  reset() {
    this.#light = 1;
    return this.zoom(0);
  }

  /** Never so far that the picture's edge comes inside its place; false where it is shown whole. */
  pan(across, down) {
    const room = [this.#image.offsetWidth, this.#image.offsetHeight].map((size) => (size * (this.#scale - 1)) / 2);
    this.#at = [across, down].map((by, axis) => Math.min(room[axis], Math.max(-room[axis], this.#at[axis] + by)));
    this.#apply();
    return this.#scale > 1;
  }

  #apply() {
    const [across, down] = this.#at;
    const [zoomed, lit] = [this.#scale > 1, this.#light !== 1];
    this.body.classList.toggle("zoomed", zoomed);
    if (this.#image) {
      this.#image.style.transform = zoomed ? `translate(${across}px, ${down}px) scale(${this.#scale})` : "";
      this.#image.style.filter = lit ? `brightness(${this.#light})` : "";
    }
    const said = [zoomed ? `Zoom ${percent(this.#scale)}` : "", lit ? `Brightness ${percent(this.#light)}` : ""];
    const words = this.#image ? said.filter(Boolean).join(" · ") : "";
    if (this.words.textContent !== words) this.words.textContent = words;
    return true;
  }

  #grab(event) {
    if (this.#scale === 1 || event.target !== this.#image) return;
    event.preventDefault();
    const { target } = event;
    target.setPointerCapture(event.pointerId);
    const move = ({ movementX, movementY }) => target === this.#image && this.pan(movementX, movementY);
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", move), { once: true });
  }

  /** Ctrl and the wheel, and two fingers on a touchpad. */
  #wheel(event) {
    if (!this.#image || !event.ctrlKey) return;
    event.preventDefault();
    this.zoom(event.deltaY < 0 ? STEP : 1 / STEP);
  }
}

const percent = (x) => `${Math.round(100 * x)} %`;
