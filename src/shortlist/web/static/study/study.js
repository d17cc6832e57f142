// The pages of a user study. A question is answered by one key and the next one, already loaded, is there at once;
// answers follow to the server in order, and are sent again until it has them.

import { ApiError, call } from "../shared/api.js";
import { byId, make } from "../shared/elements.js";
import { ItemView, prepare } from "../shared/item_view.js";
import { keyOf } from "../shared/keys.js";
import { sentence } from "../shared/messages.js";
import { Outbox } from "../shared/outbox.js";
import { Stopwatch, attend } from "../shared/stopwatch.js";

const KEYS = "123456789abcdefghijklmnopqrstuvwxyz"; // one for each option
const AHEAD = 3; // pictures fetched before they are needed
const RETRY = 2_000; // milliseconds

// --- the first and the last page -------------------------------------------------------------------------------

function welcome() {
  byId("start").addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("begin").disabled = true;
    try {
      await call("POST", "/api/start", { consent: byId("consent").checked, name: byId("name").value });
      location.assign("/question");
    } catch (error) {
      byId("notice").textContent = `That did not work. ${sentence(error)}`;
      byId("begin").disabled = false;
    }
  });
}

function thanks() {
  byId("leave").addEventListener("click", async () => {
    await call("POST", "/api/leave", {});
    location.assign("/");
  });
}

// --- the questions ---------------------------------------------------------------------------------------------

class Questions {
  left = null; // the first of them is on the screen
  #behind = false; // the server knows more: it is asked what is left once everything is sent
  #troubled = false; // what is said is about sending
  #watch = null; // of the question that can be seen and answered
  #leaving = false; // for the last page
  #resume = null; // what Enter or the button goes on with, between practice and study

  constructor() {
    this.outbox = new Outbox({
      prefix: `shortlist:study:${document.body.dataset.session}:`,
      send: ({ question, chosen, active_seconds, wall_seconds }) =>
        call("POST", "/api/answers", { item: question, chosen, active_seconds, wall_seconds }, { keepalive: true }),
      standing: async () => null, // the first answer stands, whatever it was
    });
    this.item = new ItemView({ body: byId("picture"), caption: byId("where"), onAgain: () => this.#show(this.left[0]) });
    this.#listen();
  }

  start() {
    this.#behind = true; // an earlier visit may have left answers
    this.outbox.now();
  }

  /** What the server has still to ask. A question that is on the screen and next in turn stays, with its clock. */
  async load() {
    try {
      const { questions } = await call("GET", "/api/questions");
      this.#say("");
      if (this.outbox.state.waiting) return undefined; // answered meanwhile: what the server said is old
      if (this.#watch && questions[0]?.item === this.left[0]?.id) return undefined;
      this.left = questions.map(shown);
      return this.next();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.signedOut) return location.assign("/");
      this.#say("The server cannot be reached; trying again.");
      return setTimeout(() => this.load(), RETRY);
    }
  }

  next() {
    this.#watch = null;
    delete byId("question").dataset.item; // which can be answered now
    if (this.left.length) return this.#show(this.left[0]);
    byId("question").hidden = true;
    return this.#finish();
  }

  answer(chosen) {
    if (!this.#watch) return; // nothing can be seen yet
    const active = this.#watch.lap();
    const question = this.left.shift();
    this.outbox.add({ question: question.id, chosen, active_seconds: active, wall_seconds: Math.max(active, this.#watch.wall) });
    if (this.left.length && question.practice && !this.left[0].practice) this.#between();
    else this.next();
  }

  async #show(question) {
    for (const near of this.left.slice(0, AHEAD)) near.prepared ??= prepare(near);
    byId("options").replaceChildren();
    byId("question").hidden = false;
    if (!(await this.item.show(question.prepared))) {
      question.prepared = null; // to be fetched anew
      return;
    }
    byId("progress").max = question.of;
    byId("progress").value = question.number - 1;
    byId("options").replaceChildren(...question.options.map(option));
    byId("options").dataset.count = question.options.length > 8 ? "many" : "few";
    byId("options").dataset.names = question.options.every(({ name }) => name.length <= 2) ? "short" : "words";
    byId("where").focus({ preventScroll: true });
    window.scrollTo(0, 0);
    requestAnimationFrame(() => {
      if (this.left[0] !== question) return;
      this.#watch = new Stopwatch({ hidden: document.hidden });
      this.#watch.start();
      byId("question").dataset.item = question.id;
    });
  }

  #between() {
    this.#watch = null;
    byId("question").hidden = true;
    byId("between").hidden = false;
    byId("go").focus();
    this.#resume = () => {
      this.#resume = null;
      byId("between").hidden = true;
      this.next();
    };
  }

  /** Once: a second start would abort the first, in the middle of what the browser does. */
  #finish() {
    if (this.#leaving || this.left?.length !== 0 || this.outbox.state.waiting) return;
    this.#leaving = true;
    location.assign("/thanks");
  }

  #listen() {
    attend(() => this.#watch);
    document.addEventListener("keydown", (event) => this.#key(event));
    byId("options").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.answer(Number(button.dataset.class));
    });
    byId("go").addEventListener("click", () => this.#resume?.());
    window.addEventListener("beforeunload", (event) => this.outbox.state.phase === "offline" && event.preventDefault());
    this.outbox.addEventListener("change", ({ detail }) => this.#sending(detail));
    this.outbox.addEventListener("refused", ({ detail }) => this.#refused(detail.error));
  }

  #key(event) {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || this.#resume) return;
    const place = KEYS.indexOf(keyOf(event));
    const options = this.left?.[0]?.options ?? [];
    if (place < 0 || place >= options.length) return;
    event.preventDefault();
    this.answer(options[place].class);
  }

  #sending({ phase, trouble }) {
    if (phase === "offline") this.#say("Your last answer is not saved yet; trying again. Just go on.");
    else if (phase === "signed-out") this.#say(`Your last answer is not saved yet. ${sentence(trouble)}`);
    else if (this.#troubled) this.#say("");
    this.#troubled = trouble !== null;
    if (phase === "saved" && this.#behind) {
      this.#behind = false;
      this.load();
    } else if (phase === "saved") {
      this.#finish();
    }
  }

  /** 409: the server has an answer to it, from another tab or with its acknowledgement lost. */
  #refused(error) {
    if (error.status === 409) {
      this.#behind = true;
      return;
    }
    this.#troubled = false;
    this.#watch = null;
    this.#say(`An answer was refused. ${sentence(error)} Please reload the page.`);
  }

  #say(words) {
    byId("notice").textContent = words;
  }
}

/** A question of the server's as the shared parts know them; it is called by its number, as its key would tell the answer. */
function shown({ item, src, ...question }) {
  const key = `${question.practice ? "Practice " : ""}${question.number} of ${question.of}`;
  return { ...question, id: item, item: { kind: "image", src, key } };
}

const option = ({ class: number, name }, place) =>
  make(
    "li",
    {},
    make(
      "button",
      { type: "button", "data-class": number, "aria-keyshortcuts": KEYS[place] },
      make("kbd", {}, KEYS[place].toUpperCase()),
      make("span", {}, name),
    ),
  );

const pages = { welcome, thanks, question: () => new Questions().start() };
pages[document.body.dataset.page]?.();
