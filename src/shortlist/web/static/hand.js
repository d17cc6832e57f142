// Questions in one's hand: leased, and their items loaded before they are looked at.

import { prepare } from "./item_view.js";

export const READY = 4; // questions to have, the one being answered included

export class Hand {
  #cards = [];

  get size() {
    return this.#cards.length;
  }

  get ids() {
    return this.#cards.map((card) => card.question.id);
  }

  take(questions) {
    for (const question of questions) {
      if (!this.ids.includes(question.id)) this.#cards.push(prepare({ ...question, answer: null }));
    }
  }

  get first() {
    return this.#cards[0] ?? null;
  }

  /** It has been answered, or is somebody else's now. */
  drop(id) {
    this.#cards = this.#cards.filter((card) => card.question.id !== id);
  }

  clear() {
    this.#cards = [];
  }
}
