// The pages of a user study. A question is answered by one key and the next one, already loaded, is there at once;
// answers follow to the server in order, and are sent again until it has them.

import { ApiError, call } from "./api.js";
import { Stopwatch, attend } from "./stopwatch.js";

const KEYS = "123456789abcdefghijklmnopqrstuvwxyz";
const AHEAD = 3; // pictures fetched before they are needed
const FIRST_WAIT = 500; // milliseconds before sending again; doubled with every failure
const LONGEST_WAIT = 8000;

const find = (id) => document.getElementById(id);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// --- the first and the last page -------------------------------------------------------------------------------

function welcome() {
  find("start").addEventListener("submit", async (event) => {
    event.preventDefault();
    find("begin").disabled = true;
    try {
      await call("POST", "/api/start", { consent: find("consent").checked, name: find("name").value });
      location.assign("/question");
    } catch (error) {
      find("notice").textContent = `That did not work: ${error.message}.`;
      find("begin").disabled = false;
    }
  });
}

function thanks() {
  find("leave").addEventListener("click", async () => {
    await call("POST", "/api/leave", {});
    location.assign("/");
  });
}

// --- the questions ---------------------------------------------------------------------------------------------

class Questions {
  left = []; // the first of them is on the screen
  #unsent = [];
  #sending = false;
  #stuck = false; // the last try failed
  #watch = null; // of the question that can be seen and answered
  #pictures = new Map();
  #waiting = null; // what Enter or the button goes on with, between practice and study

  constructor() {
    attend(() => this.#watch);
    document.addEventListener("keydown", (event) => this.#key(event));
    find("options").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.answer(Number(button.dataset.class));
    });
    find("go").addEventListener("click", () => this.#waiting?.());
    window.addEventListener("beforeunload", (event) => {
      if (this.#stuck) event.preventDefault(); // what is on its way arrives also without the page
    });
  }

  /** What the server has still to ask. A question that is on the screen and next in turn stays, with its clock. */
  async load() {
    for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, 2 * wait)) {
      try {
        const { questions } = await call("GET", "/api/questions");
        this.#say("");
        if (this.#unsent.length) return; // answered meanwhile: what the server said is old
        if (this.#watch && questions[0]?.item === this.left[0]?.item) return;
        this.left = questions;
        return this.next();
      } catch (error) {
        if (error instanceof ApiError && error.signedOut) return location.assign("/");
        this.#say("The server cannot be reached; trying again.");
        await pause(wait);
      }
    }
  }

  async next() {
    this.#watch = null;
    delete find("question").dataset.item; // which can be answered now
    if (!this.left.length) return this.#finish();
    for (const question of this.left.slice(0, AHEAD)) this.#picture(question);
    await this.#show(this.left[0]);
  }

  answer(chosen) {
    if (!this.#watch) return; // nothing can be seen yet
    const active = this.#watch.lap();
    const wall = Math.max(active, this.#watch.wall);
    const question = this.left.shift();
    this.#unsent.push({ item: question.item, chosen, active_seconds: active, wall_seconds: wall });
    this.#send();
    const counts = this.left.length && question.practice && !this.left[0].practice;
    if (counts) this.#between();
    else this.next();
  }

  async #show(question) {
    const picture = await this.#decoded(question);
    if (this.left[0] !== question) return;
    find("where").textContent = question.practice
      ? `Practice ${question.number} of ${question.of}`
      : `${question.number} of ${question.of}`;
    find("progress").max = question.of;
    find("progress").value = question.number - 1;
    find("picture").replaceChildren(picture);
    find("options").replaceChildren(...question.options.map(option));
    find("options").dataset.count = question.options.length > 8 ? "many" : "few";
    find("options").dataset.names = question.options.every((one) => one.name.length <= 2) ? "short" : "words";
    find("question").hidden = false;
    find("where").focus({ preventScroll: true });
    window.scrollTo(0, 0);
    requestAnimationFrame(() => {
      if (this.left[0] !== question) return;
      this.#watch = new Stopwatch({ hidden: document.hidden });
      this.#watch.start();
      find("question").dataset.item = question.item;
    });
  }

  /** Its picture, however often it takes to get it: without one there is no question. */
  async #decoded(question) {
    for (let wait = FIRST_WAIT; ; wait = Math.min(LONGEST_WAIT, 2 * wait)) {
      const picture = this.#picture(question);
      try {
        await picture.decode();
        return picture;
      } catch {
        this.#pictures.delete(question.item);
        this.#say("The picture is not there yet; trying again.");
        await pause(wait);
        this.#say("");
      }
    }
  }

  #picture(question) {
    if (!this.#pictures.has(question.item)) {
      const picture = new Image();
      picture.alt = "What is this?";
      picture.src = question.src;
      this.#pictures.set(question.item, picture);
    }
    return this.#pictures.get(question.item);
  }

  #between() {
    this.#watch = null;
    find("question").hidden = true;
    find("between").hidden = false;
    find("go").focus();
    this.#waiting = () => {
      this.#waiting = null;
      find("between").hidden = true;
      this.next();
    };
  }

  #key(event) {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || this.#waiting) return;
    const place = KEYS.indexOf(keyOf(event));
    const options = this.left[0]?.options ?? [];
    if (place < 0 || place >= options.length) return;
    event.preventDefault();
    this.answer(options[place].class);
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    let behind = false; // the server had an answer already: its acknowledgement got lost, or another tab was first
    for (let wait = FIRST_WAIT; this.#unsent.length; ) {
      try {
        await call("POST", "/api/answers", this.#unsent[0], { keepalive: true });
      } catch (error) {
        if (error instanceof ApiError && !error.passing && error.status !== 409) return this.#refused(error);
        if (error.status !== 409) {
          this.#stuck = true;
          this.#say("Your last answer is not saved yet; trying again. Just go on.");
          await pause(wait);
          wait = Math.min(LONGEST_WAIT, 2 * wait);
          continue;
        }
        behind = true;
      }
      this.#unsent.shift();
      if (this.#stuck) this.#say("");
      this.#stuck = false;
      wait = FIRST_WAIT;
    }
    this.#sending = false;
    if (behind) await this.load();
  }

  #refused(error) {
    this.#unsent = [];
    this.#stuck = false;
    this.#watch = null;
    this.#say(`An answer was refused: ${error.message}. Please reload the page.`);
  }

  async #finish() {
    find("question").hidden = true;
    while (this.#unsent.length) await pause(20);
    location.assign("/thanks");
  }

  #say(words) {
    find("notice").textContent = words;
  }
}

function option(one, place) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  const key = document.createElement("kbd");
  const name = document.createElement("span");
  button.type = "button";
  button.dataset.class = one.class;
  button.setAttribute("aria-keyshortcuts", KEYS[place]);
  key.textContent = KEYS[place];
  name.textContent = one.name;
  button.append(key, name);
  item.append(button);
  return item;
}

// What is printed on the key; where that says nothing (other scripts, digits behind Shift), where the key is
function keyOf(event) {
  const key = event.key.toLowerCase();
  if (key.length === 1 && KEYS.includes(key)) return key;
  const place = /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(event.code);
  return place ? place[1].toLowerCase() : "?";
}

const pages = { welcome, thanks, question: () => new Questions().load() };
pages[document.body.dataset.page]?.();
