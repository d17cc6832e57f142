// The words of all class names, and which of them are meant by a word with typing errors: letters that are wrong, missing,
// too many, or swapped with the next.

export const FAR = 255; // too many errors

/** Which letters occur, as 32 bits: rules most words and names out by one comparison. */
export function letterMask(text) {
  let mask = 0;
  for (let i = 0; i < text.length; i++) mask |= 1 << (text.charCodeAt(i) & 31);
  return mask;
}

const LONGEST = 64; // letters

/** How many errors a word of so many letters may have: short ones are too near each other, and nobody types longer ones. */
const allowed = (length) => (length < 4 || length > LONGEST ? 0 : length < 7 ? 1 : 2);

export class Vocabulary {
  #words = []; // each once
  #masks; // their letters
  #of; // the words of all names, by number, one name after the other
  #ends; // where the words of each name end in it

  /** @param {string[]} names folded */
  constructor(names) {
    const numbers = new Map();
    const number = (word) => {
      if (!numbers.has(word)) numbers.set(word, this.#words.push(word) - 1);
      return numbers.get(word);
    };
    const of = names.map((name) => wordsOf(name).map(number));
    let end = 0;
    this.#ends = Int32Array.from(of, (words) => (end += words.length));
    this.#of = Int32Array.from(of.flat());
    this.#masks = Int32Array.from(this.#words, letterMask);
  }

  /** A function of a name's number: with how many errors each word of the query begins one of its words; -1: not so. */
  near(query) {
    const wanted = wordsOf(query).map((word) => this.#errors(word));
    if (wanted.includes(null)) return () => -1;
    return (name) => {
      let sum = 0;
      for (const errors of wanted) {
        let least = FAR;
        for (let at = this.#ends[name - 1] ?? 0; at < this.#ends[name]; at++) least = Math.min(least, errors[this.#of[at]]);
        if (least === FAR) return -1;
        sum += least;
      }
      return sum;
    };
  }

  /** By word of the vocabulary; null where no word is near. */
  #errors(wanted) {
    const mask = letterMask(wanted);
    const most = allowed(wanted.length);
    const errors = new Uint8Array(this.#words.length).fill(FAR);
    let near = 0;
    for (let word = 0; word < errors.length; word++) {
      let lacking = mask & ~this.#masks[word]; // each of these letters is an error
      for (let i = 0; i < most; i++) lacking &= lacking - 1;
      if (lacking !== 0) continue;
      errors[word] = errorsIn(wanted, this.#words[word], most);
      near += errors[word] < FAR;
    }
    return near ? errors : null;
  }
}

const rows = Array.from({ length: 3 }, () => new Uint8Array(LONGEST + 3)); // of `errorsIn`, made once

export const wordsOf = (text) => text.split(" ").filter(Boolean);

/**
 * The fewest errors with which what was typed is the beginning of a word, or all of it; FAR where they are more than `most`.
 * Restricted Damerau-Levenshtein, a row for each letter typed.
 */
export function errorsIn(typed, word, most = allowed(typed.length)) {
  if (word.startsWith(typed)) return 0;
  if (most === 0) return FAR;
  const n = Math.min(word.length, typed.length + most);
  let [before, last, row] = rows;
  for (let j = 0; j <= n; j++) last[j] = j;
  for (let i = 1; i <= typed.length; i++) {
    let least = (row[0] = i);
    for (let j = 1; j <= n; j++) {
      const letter = typed[i - 1];
      row[j] = Math.min(last[j - 1] + (letter === word[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1);
      const swapped = i > 1 && j > 1 && letter === word[j - 2] && typed[i - 2] === word[j - 1];
      if (swapped) row[j] = Math.min(row[j], before[j - 2] + 1);
      least = Math.min(least, row[j]);
    }
    if (least > most) return FAR;
    [before, last, row] = [last, row, before];
  }
  // Who has typed n letters means at least the first n: "cat" is not "ca" of "camel" with one too many
  let least = FAR;
  for (let j = Math.min(typed.length, n); j <= n; j++) least = Math.min(least, last[j]);
  return least <= most ? least : FAR;
}
