// This session's speed: answers per active minute, across reloads of the tab.

const KEY = "shortlist:session";

export class Session {
  constructor(name) {
    this.key = `${KEY}:${name}`;
    const kept = this.#read();
    this.answers = kept?.answers ?? 0;
    this.seconds = kept?.seconds ?? 0;
  }

  /** @param seconds active ones  @param again it corrects an earlier one: its seconds count, it is no answer more */
  add(answer, seconds, again) {
    this.seconds += seconds;
    if (answer.kind !== "skip" && !again) this.answers += 1;
    try {
      sessionStorage.setItem(this.key, JSON.stringify({ answers: this.answers, seconds: this.seconds }));
    } catch {
      // a private window: it counts from the last reload
    }
  }

  /** Answers per minute; 0: too few to tell. */
  get speed() {
    return this.answers && this.seconds > 0 ? (60 * this.answers) / this.seconds : 0;
  }

  #read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key));
    } catch {
      return null;
    }
  }
}
