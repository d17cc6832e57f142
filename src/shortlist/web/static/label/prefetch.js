// The next questions: leased to this person, and their items loaded before they are looked at.

import { prepare } from "../shared/item_view.js";

export const READY = 4; // questions to have, the one being answered included

export class Prefetched {
  #questions = [];

  get size() {
    return this.#questions.length;
  }

  get ids() {
    return this.#questions.map((prepared) => prepared.question.id);
  }

  take(questions) {
    for (const question of questions) {
      if (!this.ids.includes(question.id)) this.#questions.push(prepare({ ...question, answer: null }));
    }
  }

  get first() {
    return this.#questions[0] ?? null;
  }

  /** It has been answered, or is another person's now. */
  drop(id) {
    this.#questions = this.#questions.filter((prepared) => prepared.question.id !== id);
  }

  clear() {
    this.#questions = [];
  }
}
