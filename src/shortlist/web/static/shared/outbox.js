// Answers on their way to the server: in order, kept in the browser until they are acknowledged, sent again when they
// did not get through. Each waits under a key of its own, so that two tabs never write over each other.

import { ApiError } from "./api.js";

const FIRST_WAIT = 500; // milliseconds; doubled with every failure
const LONGEST_WAIT = 10_000;

/**
 * Events: "change" (see `state`), "saved" {answer, reply}, "refused" {answer, error}.
 * `send(answer)` posts one. `standing(question)` gives one's own answer that the server has, or null.
 */
export class Outbox extends EventTarget {
  #entries = [];
  #answerIds = new Map(); // question -> the answer that a newer one supersedes
  #busy = false;
  #failures = 0;
  #trouble = null; // the ApiError of the last try, while it matters
  #timer = 0;
  #count = 0;

  constructor({ send, standing, prefix, storage = browserStorage() }) {
    super();
    this.send = send;
    this.standing = standing;
    this.prefix = prefix;
    this.storage = storage;
    this.#entries = this.#stored();
    window.addEventListener("online", () => this.now());
  }

  /** Questions whose answers wait here. */
  get questions() {
    return [...new Set(this.#entries.map((entry) => entry.answer.question))];
  }

  /** How many of them are first answers, that is, not corrections. */
  get fresh() {
    return this.#entries.filter((entry) => entry.answer.supersedes === null && !entry.corrects).length;
  }

  get state() {
    const waiting = this.#entries.length;
    if (!waiting) return { phase: "saved", waiting, trouble: null };
    if (!this.#trouble) return { phase: "saving", waiting, trouble: null };
    return { phase: this.#trouble.signedOut ? "signed-out" : "offline", waiting, trouble: this.#trouble };
  }

  /** Remember which answer stands, so that the next one to the question supersedes it. */
  stands(question, answerId) {
    this.#answerIds.set(question, answerId);
  }

  /** @param answer the body of POST /api/answers, but for what `send` adds */
  add(answer) {
    const { question } = answer;
    const entry = {
      key: `${this.prefix}${String(Date.now()).padStart(15, "0")}-${String(this.#count++).padStart(6, "0")}`,
      corrects: this.#entries.some((other) => other.answer.question === question), // of one not yet acknowledged
      answer: { ...answer, supersedes: this.#answerIds.get(question) ?? null },
    };
    this.#entries.push(entry);
    this.storage.put(entry.key, JSON.stringify(entry));
    this.#changed();
    this.#pump();
  }

  /** Try at once instead of when the wait is over. */
  now() {
    clearTimeout(this.#timer);
    this.#pump();
  }

  async #pump() {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    try {
      while (this.#entries.length) await this.#first();
    } catch (error) {
      this.#later(error);
    } finally {
      this.#busy = false;
      this.#changed();
    }
  }

  async #first() {
    const entry = this.#entries[0];
    const { question } = entry.answer;
    const answer = { ...entry.answer, supersedes: this.#answerIds.get(question) ?? entry.answer.supersedes };
    try {
      const reply = await this.send(answer);
      this.#answerIds.set(question, reply.answer);
      this.#done(entry, "saved", { answer, reply });
    } catch (error) {
      if (!(error instanceof ApiError)) console.error(error);
      if (!(error instanceof ApiError) || error.passing || error.signedOut) throw error;
      await this.#settleRefusal(entry, answer, error);
    }
  }

  // The server may have had it all along: the acknowledgement was lost, not the answer
  async #settleRefusal(entry, answer, error) {
    const standing = await this.#standing(answer.question);
    if (standing) this.#answerIds.set(answer.question, standing.id);
    const same = standing && standing.kind === answer.kind && String(standing.path) === String(answer.path);
    if (same && (standing.note ?? "") !== (answer.note ?? "").trim() && answer.supersedes !== standing.id) return; // once more, as a correction
    if (same) {
      this.#done(entry, "saved", { answer, reply: null });
    } else if (this.#entries.some((later) => later !== entry && later.answer.question === answer.question)) {
      this.#done(entry, "saved", { answer, reply: null }); // the newer answer that follows says what counts
    } else {
      this.#done(entry, "refused", { answer, error });
    }
  }

  async #standing(question) {
    try {
      return await this.standing(question);
    } catch (error) {
      if (error instanceof ApiError && !error.passing && !error.signedOut) return null;
      throw error;
    }
  }

  #done(entry, event, detail) {
    this.#entries.splice(this.#entries.indexOf(entry), 1);
    this.storage.drop(entry.key);
    this.#failures = 0;
    this.#trouble = null;
    this.dispatchEvent(new CustomEvent(event, { detail }));
    this.#changed();
  }

  #later(error) {
    this.#trouble = error instanceof ApiError ? error : new ApiError(String(error), 0);
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.#failures++);
    this.#timer = setTimeout(() => this.#pump(), wait * (0.75 + Math.random() / 2)); // not all people at one moment
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("change", { detail: this.state }));
  }

  #stored() {
    const keys = this.storage.keys().filter((key) => key.startsWith(this.prefix)).sort();
    return keys.map((key) => parsed(this.storage.get(key))).filter((entry) => entry?.answer);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** localStorage where it can be had; a private window may refuse it, and then answers wait in memory alone. */
export function browserStorage() {
  const attempt = (act, otherwise) => {
    try {
      return act();
    } catch {
      return otherwise;
    }
  };
  return {
    keys: () => attempt(() => Object.keys(localStorage), []),
    get: (key) => attempt(() => localStorage.getItem(key), null),
    put: (key, value) => attempt(() => localStorage.setItem(key, value)),
    drop: (key) => attempt(() => localStorage.removeItem(key)),
  };
}
