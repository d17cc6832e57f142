// A person's own answers, oldest first: what undo walks back through, into earlier sessions too.

const FIRST = 50; // answers asked for when one goes back beyond this session; twice as many the next time
const MOST = 800;

export class AnswerHistory {
  #steps = []; // {id, question: Q or null until it is fetched, answer}
  #limit = FIRST;
  #at = null; // the step one has gone back to; null: none

  constructor(api) {
    this.api = api;
  }

  get length() {
    return this.#steps.length;
  }

  /** A question answered just now, also when it was answered before. */
  push(question, answer) {
    this.forget(question.id);
    this.#steps.push({ id: question.id, question, answer });
    this.leave();
  }

  forget(id) {
    const at = this.#steps.findIndex((step) => step.id === id);
    if (at < 0) return;
    this.#steps.splice(at, 1);
    if (this.#at !== null && at < this.#at) this.#at -= 1;
  }

  leave() {
    this.#at = null;
  }

  /** One step back: the question with its standing answer, or null at the beginning. */
  async back() {
    let at = (this.#at ?? this.#steps.length) - 1;
    if (at < 0) at += await this.#older();
    if (at < 0) return null;
    const step = this.#steps[at];
    if (!step.question) {
      step.question = await this.api.question(step.id);
      step.answer = step.question.answer ?? step.answer;
    }
    this.#at = this.#steps.indexOf(step);
    return { question: step.question, answer: step.answer };
  }

  /** Answers from before the oldest step; how many there were. */
  async #older() {
    while (this.#limit <= MOST) {
      const { answers } = await this.api.answers(this.#limit);
      this.#limit = answers.length < this.#limit ? Infinity : this.#limit * 2;
      const known = new Set(this.#steps.map((step) => step.id));
      const fresh = answers.filter(({ question }) => !known.has(question) && known.add(question));
      if (!fresh.length) continue;
      const older = fresh.map((answer) => ({ id: answer.question, question: null, answer }));
      this.#steps = [...older.reverse(), ...this.#steps];
      return fresh.length;
    }
    return 0;
  }
}
