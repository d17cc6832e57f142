// The stages of a question: the classes that each shows, where it ends, and the answer that a walk through them gives.
// The only place in the browser that says what `classes`, `cuts`, `exhaustive`, `rejected` and an answer's `path` mean.

import { OPTION_KEYS } from "./keys.js";

export const NONE = -1; // "None of the above", in a path

const FEW = 20; // so many classes are quicker read than searched

export const stageCount = (question) => question.cuts.length + (question.exhaustive ? 1 : 0);

/** The rest: the last stage of an exhaustive question, with every class not shown before and not ruled out. */
export const isRest = (question, stage) => stage >= question.cuts.length;

/** Which classes a stage shows: by probability up to the last cut, in the classes' own order after it. */
export function classesOf(question, stage, nClasses) {
  const { cuts, classes } = question;
  if (!isRest(question, stage)) {
    const gone = new Set(question.rejected);
    return classes.slice(stage === 0 ? 0 : cuts[stage - 1], cuts[stage]).filter((cls) => !gone.has(cls));
  }
  const out = new Uint8Array(nClasses);
  for (const cls of classes) out[cls] = 1;
  for (const cls of question.rejected) out[cls] = 1;
  const rest = [];
  for (let cls = 0; cls < nClasses; cls++) if (!out[cls]) rest.push(cls);
  return rest;
}

/** All classes by their names. */
export function alphabet(names) {
  const { compare } = new Intl.Collator(document.documentElement.lang || "en", { numeric: true });
  return Int32Array.from(names.keys()).sort((a, b) => compare(names[a], names[b]) || a - b);
}

/** Whether it is known which of a stage's classes are more probable than others. */
export const isRanked = (question, stage) => !isRest(question, stage) || Boolean(question.order?.length);

/**
 * A stage's classes as they are shown: most probable first, those of which that is not known by name; or all by name.
 * @param named all classes by their names, as `alphabet` has them
 */
export function inOrder(question, stage, classes, named, byName) {
  if (!byName && !isRest(question, stage)) return classes;
  const left = new Uint8Array(named.length);
  for (const cls of classes) left[cls] = 1;
  const first = byName ? [] : (question.order ?? []).filter((cls) => left[cls]);
  for (const cls of first) left[cls] = 0;
  return [...first, ...named.filter((cls) => left[cls])];
}

/** "buttons" where every option can have a key of its own and can be read at a glance, else "search". */
export function presentation(question, stage, nShown) {
  return nShown <= (isRest(question, stage) ? FEW : OPTION_KEYS.length) ? "buttons" : "search";
}

/** Whether "None" at this stage is the end of the question: nothing more would be shown. */
export function noneEnds(question, stage, nClasses) {
  if (stage + 1 >= stageCount(question)) return true;
  return isRest(question, stage + 1) && classesOf(question, stage + 1, nClasses).length === 0;
}

/** A person's walk through a question: the stage they are at, and the active seconds of each. */
export class Walk {
  /** @param named all classes by their names, as `alphabet` has them */
  constructor(question, named, watch) {
    this.question = question;
    this.named = named;
    this.nClasses = named.length;
    this.watch = watch;
    this.byName = false;
    this.note = question.answer?.note ?? null;
    this.seconds = [0];
    this.#go(0);
  }

  /** Whether the other order is another one. */
  get hasOrders() {
    return this.shown.length > 1 && isRanked(this.question, this.stage);
  }

  reorder(byName) {
    this.byName = byName;
    this.#go(this.stage);
  }

  get asButtons() {
    return presentation(this.question, this.stage, this.shown.length) === "buttons";
  }

  get atRest() {
    return isRest(this.question, this.stage);
  }

  /** Whether "not any class" can be said: a question that never shows all classes does not ask that. */
  get canSayNothing() {
    return this.question.exhaustive;
  }

  /** What one's earlier answer says at this stage: a class, NONE, or null where it ended before. */
  get before() {
    return this.question.answer?.path[this.stage] ?? null;
  }

  /** Active seconds so far, up to the last step. */
  get active() {
    return this.seconds.reduce((a, b) => a + b, 0);
  }

  get noneEnds() {
    return noneEnds(this.question, this.stage, this.nClasses);
  }

  /** Whether "none of the above" leaves classes over. Where it would not it says nothing, least of all "not any class". */
  get hasNone() {
    return !(this.question.exhaustive && this.noneEnds);
  }

  /** "None of the above", when there is a next stage. */
  advance() {
    this.#lap();
    this.seconds.push(0);
    this.#go(this.stage + 1);
  }

  /** Back to the stage before. The seconds spent on the one left count for the one returned to: they were spent. */
  retreat() {
    this.#lap();
    const spent = this.seconds.pop();
    this.#go(this.stage - 1);
    this.seconds[this.stage] += spent;
  }

  label(cls) {
    return this.#answer("label", [...this.#misses(), cls]);
  }

  /** Not any class: a miss in every stage, seen or not. */
  nothing() {
    return this.#answer("none", Array(stageCount(this.question)).fill(NONE));
  }

  skip() {
    return this.#answer("skip", this.#misses());
  }

  unreadable() {
    return this.#answer("unreadable", this.#misses());
  }

  #answer(kind, path) {
    this.#lap();
    return {
      question: this.question.id,
      kind,
      path,
      stage_seconds: this.seconds.map(milliseconds),
      wall_seconds: milliseconds(Math.max(this.watch.wall, this.active)),
      note: this.note,
    };
  }

  #misses() {
    return Array(this.stage).fill(NONE);
  }

  #go(stage) {
    this.stage = stage;
    const classes = classesOf(this.question, stage, this.nClasses);
    this.shown = inOrder(this.question, stage, classes, this.named, this.byName);
  }

  #lap() {
    this.seconds[this.stage] += this.watch.lap();
  }
}

const milliseconds = (seconds) => Math.round(seconds * 1000) / 1000;

/** An answer without a class, by its kind. */
export const WITHOUT_CLASS = { none: "not any class", skip: "skipped", unreadable: "cannot be read" };

/** An answer in words: "cat", "not any class", "skipped". */
export function answerInWords(answer, names) {
  const chosen = answer.path.at(-1);
  if (answer.kind === "label") return names[chosen] ?? `class ${chosen}`;
  return WITHOUT_CLASS[answer.kind] ?? answer.kind;
}
