// What a person has chosen for this page, kept in the browser.

export class Preference {
  #on;

  constructor(key) {
    this.key = key;
    try {
      this.#on = localStorage.getItem(key) === "on";
    } catch {
      this.#on = false;
    }
  }

  get on() {
    return this.#on;
  }

  set on(on) {
    this.#on = on;
    try {
      localStorage.setItem(this.key, on ? "on" : "off");
    } catch {
      // a private window: it holds until the page is left
    }
  }
}
