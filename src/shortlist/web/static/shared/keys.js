// From a key to what it means. Layouts differ: where a key gives no Latin letter or digit, its place decides.

/** Keys that mean the same in every question; options get the digits and the letters that are left. */
const ACTION_KEYS = { skip: "s", note: "n", nothing: "x", unreadable: "u", order: "o", guide: "g" };
const reserved = new Set(Object.values(ACTION_KEYS));
const letters = [..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !reserved.has(letter));
export const OPTION_KEYS = [..."123456789", ...letters];

/** "None of the above". Where the classes are digits, each is answered by its digit, on every list, and none by a letter. */
const NONE_KEY = "0";
const NONE_BESIDE_DIGITS = "a";

export const areDigits = (names) => names.every((name) => /^[0-9]$/.test(name));
export const noneKey = (names) => (areDigits(names) ? NONE_BESIDE_DIGITS : NONE_KEY);

const ACTIONS = new Map(Object.entries(ACTION_KEYS).map(([action, key]) => [key, action]));

/** "a", "7", "/" ... of an event, or its own name ("Escape"). */
export function keyOf(event) {
  const key = event.key.toLowerCase();
  if (/^[a-z0-9?/]$/.test(key) && !event.altKey) return key;
  const place = /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(event.code ?? "");
  return place && event.key.length === 1 ? place[1].toLowerCase() : event.key;
}

/**
 * What a key asks for: {option: index}, {digit: name}, {none: true} or {action: name}; null: nothing of ours.
 * typing: the focus is where letters are typed. alone: keys work without Alt. digits: the classes are digits.
 * numbers: in an empty field a number can only mean what it means everywhere, for no class has one in its name.
 */
export function meaning(event, { typing, emptyField, alone, digits = false, numbers = false }) {
  const key = keyOf(event);
  const alt = event.altKey && !event.ctrlKey && !event.metaKey && !event.getModifierState?.("AltGraph");
  const command = (event.ctrlKey || event.metaKey) && !event.altKey;
  if (command) return key === "z" && !event.shiftKey && (!typing || emptyField) ? { action: "undo" } : null;
  if (event.altKey && !alt) return null;
  const isNumber = typing && emptyField && numbers && /^[0-9]$/.test(key);
  if (alt || ((!typing || isNumber) && alone)) return plainMeaning(key, alt, digits);
  return null;
}

function plainMeaning(key, alt, digits) {
  if (key === "Backspace") return { action: "undo" };
  if (key === (digits ? NONE_BESIDE_DIGITS : NONE_KEY)) return { none: true };
  if (digits && /^[0-9]$/.test(key)) return { digit: key };
  if (ACTIONS.has(key)) return { action: ACTIONS.get(key) };
  if (key === "?") return { action: "help" };
  if (alt && !/^[1-9]$/.test(key)) return null; // browsers want the other letters
  if (key === "/") return { action: "search" };
  const option = OPTION_KEYS.indexOf(key);
  return option < 0 ? null : { option };
}
