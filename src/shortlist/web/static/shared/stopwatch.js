// Active time: what a person spends in front of an item, not what passes while they are away.

export const IDLE = 30_000; // milliseconds without any input, after which the person counts as away

/** Seconds that count: not while stopped, not while hidden, and at most IDLE after the last input. */
export class Stopwatch {
  #clock;
  #wallClock;
  #idle;
  #active = 0; // milliseconds since the last lap
  #from = 0; // up to here it has been counted
  #input = 0; // when the last input came
  #running = false;
  #hidden = false;
  #begun = null;

  constructor({ clock = () => performance.now(), wallClock = Date.now, idle = IDLE, hidden = false } = {}) {
    this.#clock = clock;
    this.#wallClock = wallClock;
    this.#idle = idle;
    this.#hidden = hidden;
  }

  /** From when the item can be seen. Starting again after a stop goes on counting. */
  start() {
    this.#settle();
    this.#running = true;
    this.#begun ??= this.#wallClock();
    this.#input = this.#clock();
  }

  stop() {
    this.#settle();
    this.#running = false;
  }

  /** A pointer, a key or a scroll. */
  touch() {
    this.#settle();
    this.#input = this.#clock();
  }

  hide() {
    this.#settle();
    this.#hidden = true;
  }

  show() {
    this.#settle();
    this.#hidden = false;
    this.#input = this.#clock(); // to turn to a tab is an input
  }

  /** No input has come for a while. */
  get isIdle() {
    return this.#clock() - this.#input > this.#idle;
  }

  /** Active seconds since the last lap. */
  lap() {
    this.#settle();
    const seconds = this.#active / 1000;
    this.#active = 0;
    return seconds;
  }

  /** Seconds by the clock on the wall since the first start. */
  get wall() {
    return this.#begun === null ? 0 : Math.max(0, this.#wallClock() - this.#begun) / 1000;
  }

  // No timers: whatever happens, what passed since the last event is counted up to the idle limit
  #settle() {
    const now = this.#clock();
    if (this.#running && !this.#hidden) {
      this.#active += Math.max(0, Math.min(now, this.#input + this.#idle) - this.#from);
    }
    this.#from = now;
  }
}

const INPUTS = ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchmove", "input"];

/** Tell the watch that is in use of every input, and of the tab being hidden and shown. */
export function attend(current) {
  const touch = () => current()?.touch();
  for (const name of INPUTS) window.addEventListener(name, touch, { capture: true, passive: true });
  document.addEventListener("visibilitychange", () => (document.hidden ? current()?.hide() : current()?.show()));
}
