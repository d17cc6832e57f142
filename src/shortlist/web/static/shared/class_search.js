// Type-ahead search in class names: prefix, then words in any order, then substring; then names that come near: words with
// typing errors, and letters in order. Names are folded once; a keystroke is one pass over the candidates (10,000 in a
// millisecond or two).

import { errorsIn, FAR, letterMask, Vocabulary, wordsOf } from "./vocabulary.js";

const LENGTHS = 256; // longer names count as this long when hits are ranked
const EXACT = 0;
const PREFIX = 1;
const WORD = 2;
const INSIDE = 3;
const NEAR = 4; // from here on a name does not hold what was typed
const LETTERS = 5;

const LIGATURES = { ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ı: "i" };
const MARKS = /\p{M}/gu;
const GAP = /[\s_\-\/,.:;()[\]'"’]/;

/** Case, accents and punctuation away: "Café-au-lait" is found by "cafe au lait". */
export const fold = (name) => foldWithMap(name).text;

/** The folded text, and for each of its characters where in the name it comes from: [from, to). */
export function foldWithMap(name) {
  const plain = folded(name, (char) => (GAP.test(char) ? " " : plainLetter(char)));
  return plain.text ? plain : folded(name, (char) => char.toLowerCase()); // a class may be called "-"
}

function plainLetter(char) {
  const lower = char.toLowerCase();
  if (lower < "\u0080") return lower;
  const bare = lower.normalize("NFKD").replace(MARKS, "");
  return [...bare].map((letter) => LIGATURES[letter] ?? letter).join("");
}

function folded(name, letters) {
  let text = "";
  const from = [];
  const to = [];
  let at = 0;
  for (const char of name) {
    const added = letters(char);
    const doubled = added === " " && (text === "" || text.endsWith(" "));
    if (!doubled) {
      for (let i = 0; i < added.length; i++) {
        from.push(at);
        to.push(at + char.length);
      }
      text += added;
    } else if (to.length) {
      to[to.length - 1] = at + char.length;
    }
    at += char.length;
  }
  const trimmed = text.trimEnd();
  return { text: trimmed, from: from.slice(0, trimmed.length), to: to.slice(0, trimmed.length) };
}

export class ClassIndex {
  /** @param about what each class is, in a line; empty where that is not known */
  constructor(names, about = []) {
    this.names = names;
    this.about = about;
    this.folded = names.map((name) => ` ${fold(name)}`); // with a blank before, so that every word follows one
    this.masks = Int32Array.from(this.folded, letterMask);
    this.vocabulary = new Vocabulary(this.folded);
    this.hasNumbers = names.some((name) => /[0-9]/.test(name));
  }

  /**
   * The best hits among the candidates, how many there are in all, and whether the first one holds what was typed.
   * @param {string} query as typed
   * @param {ArrayLike<number>} candidates class numbers; earlier ones win ties
   * @returns {{hits: number[], total: number, holds: boolean}}
   */
  search(query, candidates, limit = 50) {
    const text = fold(query);
    if (!text) return { hits: Array.prototype.slice.call(candidates, 0, limit), total: candidates.length, holds: false };
    const wanted = new Wanted(text, query.trim());
    const ranks = new Int32Array(candidates.length).fill(-1);
    const mask = letterMask(wanted.letters);
    const plain = this.#rank(candidates, ranks, wanted, mask, (cls) => wanted.plainRank(this.folded[cls]));
    let total = plain;
    if (total < limit && text.length > 1) {
      const errors = this.vocabulary.near(text);
      total += this.#rank(candidates, ranks, wanted, 0, (cls) => nearRank(errors(cls), this.folded[cls]));
      total += this.#rank(candidates, ranks, wanted, mask, (cls) => wanted.letterRank(this.folded[cls]));
    }
    return { hits: best(ranks, limit).map((at) => candidates[at]), total, holds: plain > 0 };
  }

  /** Parts of a name that the query matches: [from, to) in the name's own characters. */
  matched(query, cls) {
    const text = fold(query);
    if (!text) return [];
    const name = foldWithMap(this.names[cls]);
    return joined(new Wanted(text, query.trim()).spans(name.text).map(([a, b]) => [name.from[a], name.to[b - 1]]));
  }

  /** Give a rank to those that have none yet and hold the letters; how many got one. */
  #rank(candidates, ranks, wanted, mask, rankOf) {
    let count = 0;
    for (let at = 0; at < candidates.length; at++) {
      const cls = candidates[at];
      if (ranks[at] >= 0 || (this.masks[cls] & mask) !== mask) continue;
      const rank = rankOf(cls);
      if (rank < 0) continue;
      ranks[at] = 2 * rank + !this.names[cls].includes(wanted.typed); // é before e, a before A
      count++;
    }
    return count;
  }
}

/** By how many errors, then by length. */
const nearRank = (errors, name) => (errors < 0 ? -1 : NEAR * LENGTHS + Math.min(32 * errors + (name.length >> 3), LENGTHS - 1));

/** A folded query, and how well it fits a folded name that has a blank before it. Lower ranks are better. */
class Wanted {
  constructor(text, typed) {
    this.text = text;
    this.typed = typed;
    this.letters = text.replaceAll(" ", "");
    this.start = ` ${text}`;
    this.starts = text.includes(" ") ? text.split(" ").map((word) => ` ${word}`) : null;
  }

  plainRank(name) {
    const tier = this.#tier(name);
    return tier < 0 ? -1 : tier * LENGTHS + Math.min(name.length, LENGTHS - 1);
  }

  /** By where a word begins with them, and how close together the letters lie. */
  letterRank(name) {
    const { letters } = this;
    let at = 0;
    let first = 0;
    for (let i = 0; i < letters.length; i++) {
      at = name.indexOf(letters[i], at + 1);
      if (at < 0) return -1;
      if (i === 0) first = at;
    }
    const inside = name[first - 1] === " " ? 0 : LENGTHS / 2;
    return LETTERS * LENGTHS + inside + Math.min(at - first, LENGTHS / 2 - 1);
  }

  /** The parts of a folded name, without a blank before it, that match. */
  spans(bare) {
    const name = ` ${bare}`;
    const tier = this.#tier(name);
    const word = name.indexOf(this.start);
    const whole = word >= 0 ? word : bare.indexOf(this.text);
    if (whole >= 0) return [[whole, whole + this.text.length]];
    if (tier === WORD) return this.starts.map((start) => [name.indexOf(start), name.indexOf(start) + start.length - 1]);
    return this.#nearSpans(bare) ?? this.#letterSpans(bare);
  }

  /** The words that are meant; null where it is not by them that the name was found. */
  #nearSpans(bare) {
    const words = wordsOf(bare);
    const meant = wordsOf(this.text).map((typed) => fewest(words, (word) => errorsIn(typed, word)));
    if (meant.includes(null)) return null;
    return meant.map((word) => [` ${bare}`.indexOf(` ${word}`), ` ${bare}`.indexOf(` ${word}`) + word.length]);
  }

  #letterSpans(bare) {
    const spans = [];
    let at = -1;
    for (let i = 0; i < this.letters.length; i++) {
      at = bare.indexOf(this.letters[i], at + 1);
      if (at < 0) return [];
      spans.push([at, at + 1]);
    }
    return spans;
  }

  #tier(name) {
    const word = name.indexOf(this.start);
    if (word === 0) return name.length === this.start.length ? EXACT : PREFIX;
    if (word > 0) return WORD;
    if (this.starts?.every((start) => name.includes(start))) return WORD; // "fox red" finds "red fox"
    return name.includes(this.text) ? INSIDE : -1;
  }
}

/** The word with the fewest errors; null where none is meant. */
function fewest(words, errors) {
  const counts = words.map(errors);
  const least = Math.min(...counts);
  return least < FAR ? words[counts.indexOf(least)] : null;
}

/** Where the lowest ranks are, at most `limit`: by counting, so that 10,000 hits need not be sorted. */
function best(ranks, limit) {
  const counts = new Uint32Array(2 * (LETTERS + 1) * LENGTHS);
  for (const rank of ranks) if (rank >= 0) counts[rank]++;
  let worst = 0;
  for (let seen = counts[0]; seen < limit && worst < counts.length - 1; ) seen += counts[++worst];
  const hits = [];
  for (let at = 0; at < ranks.length; at++) if (ranks[at] >= 0 && ranks[at] <= worst) hits.push(at);
  return hits.sort((a, b) => ranks[a] - ranks[b] || a - b).slice(0, limit);
}

function joined(spans) {
  const out = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = out.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}
