// The screens without a question: waiting, and the end.

import { byId as $, make } from "../shared/elements.js";
import * as words from "../shared/words.js";

export function showOnly(name) {
  for (const id of ["question", "waiting", "ending"]) $(id).hidden = id !== name;
}

export function fillWaiting(progress, { trouble, canUndo, waiting }) {
  const [title, sentence] = words.waiting(progress, trouble);
  if ($("waiting-title").textContent !== title) $("waiting-title").textContent = title;
  if ($("waiting-words").textContent !== sentence) $("waiting-words").textContent = sentence;
  $("waiting").dataset.calm = String(Boolean(progress?.error || trouble));
  $("waiting-hint").textContent = unsent(waiting);
  $("waiting-undo").hidden = !canUndo || trouble !== null;
  $("waiting-sign-in").hidden = !trouble?.signedOut;
}

function unsent(waiting) {
  if (!waiting) return "";
  const are = waiting === 1 ? "answer is" : "answers are";
  return `${words.count(waiting)} ${are} kept in this browser and sent as soon as that can be done.`;
}

export function fillEnding(progress, person) {
  $("ending-title").textContent = person ? `All done. Thank you, ${person}.` : "All done. Thank you.";
  $("ending-words").textContent = progress.ending
    ? `The campaign is over: ${progress.ending.replace(/[.\s]+$/, "")}.`
    : "The campaign is over: there is nothing left to ask.";
  const share = words.savedShare(progress);
  const tally = [
    ["answers in all", words.count(progress.done)],
    [`${progress.unit} of work`, words.amount(progress.cost)],
    [`${progress.unit} saved (${Math.round(100 * share)}\u00a0%)`, words.amount(progress.saved)],
    ...(progress.saved_minutes === null ? [] : [["of people’s time saved", words.minutes(progress.saved_minutes)]]),
  ];
  $("ending-figures").replaceChildren(...tally.map(figure));
}

const figure = ([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
