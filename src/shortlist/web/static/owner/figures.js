// The dashboard's figures: what each shows of a campaign's numbers, as plain functions.

import { logCurve } from "../shared/charts.js";
import { amount, count, plural } from "../shared/words.js";

const STUDY = 1.59; // seconds a bit took in the paper's user study
export const ENOUGH = 30; // stages timed before a curve is fitted to them, as campaign/accounting/timing.py has it

const hundredths = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const tenths = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const thousandths = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A share in percent. */
export const percent = (x) => `${percentage(x)} %`;
export const percentage = (x) => tenths.format(100 * x);
const axisPercent = (x, exact) => (exact ? percent(x) : `${amount(100 * x)}%`);
const seconds = (x, exact) => (exact ? `${hundredths.format(x)} s` : hundredths.format(x));
const plain = (x, exact) => (exact ? amount(x) : compact(x));

/** 12000 as 12k: axes are narrow. */
const compact = (x) => (Math.abs(x) >= 10_000 ? `${hundredths.format(x / 1000)}k` : hundredths.format(x));

const rounds = { name: "Round", words: (n) => `Round ${n}` };
const series = (data, field, more = {}) => ({ ...more, points: pointsOf(data.rounds, field) });
const pointsOf = (rounds, field) =>
  rounds.filter((round) => round[field] !== null).map((round) => ({ x: round.number, y: round[field] }));
/** Of the rounds that had lists: the first asks for all classes. */
const listed = (data, field, more) => ({ ...more, points: pointsOf(data.rounds.filter((round) => round.number > 1), field) });
const last = (data) => data.rounds.at(-1);

export function cost(data) {
  const end = last(data);
  const spent = end && `${amount(end.cost)} ${data.unit} instead of ${amount(end.conventional_cost)}`;
  return {
    note: end && data.saving !== null ? [strong(saving(data.saving)), ` after round ${end.number}: ${spent}.`, ...floor(data)] : [],
    about: end ? `After round ${end.number} ${spent}.` : "",
    empty: "The first figures come when the first round is complete.",
    x: rounds,
    y: { name: data.unit, format: plain, zero: true },
    series: [
      series(data, "conventional_cost", { name: "All classes every time", tone: 4, dash: true }),
      series(data, "cost", { name: "With shortlists", tone: 1 }),
    ],
  };
}

/** How far that is from the least that lists could do with. */
const floor = (data) =>
  data.times_floor === null ? [] : [" That is ", strong(`${tenths.format(data.times_floor)} × the floor`), ", the least it could have been with this model."];

export function accuracy(data) {
  const known = data.rounds.filter((round) => round.accuracy !== null);
  const end = known.at(-1);
  const points = known.map(({ number, accuracy, interval }) => ({
    x: number,
    y: accuracy,
    ...(interval ? { low: interval[0], high: interval[1] } : {}),
  }));
  return {
    note: end ? [strong(percent(end.accuracy)), ` with ${plural(end.labelled, "label")}. The band is the 95 % interval.`] : [],
    about: end ? `${percent(end.accuracy)} after round ${end.number}.` : "",
    empty: known.length || !data.rounds.length ? "It is measured when the first round is complete." : "There is neither a test split nor a holdout to measure it on.",
    x: rounds,
    y: { name: "of items told right", format: axisPercent, least: 0, most: 1 },
    series: [{ name: "Accuracy (95 % interval)", tone: 1, band: true, points }],
  };
}

export function listSize(data) {
  const shown = listed(data, "mean_set_size", { name: "Mean list", tone: 1 });
  const end = shown.points.at(-1);
  return {
    note: end ? [strong(amount(end.y)), ` of ${plural(data.classes, "class", "classes")} on the list, on average.`] : [],
    about: end ? `${amount(end.y)} of ${count(data.classes)} classes in round ${end.x}.` : "",
    empty: noLists(data),
    x: rounds,
    y: { name: "classes on the list", format: plain, zero: true },
    series: [shown],
  };
}

export function coverage(data) {
  const held = listed(data, "coverage", { name: "Short lists that held the answer", tone: 1 });
  const end = held.points.at(-1);
  const { lists, full } = (end && data.rounds.find((round) => round.number === end.x)) ?? {};
  return {
    note: end ? [strong(percent(end.y)), ` of ${plural(lists, "short list")} in round ${end.x} held the answer; ${plural(full, "item")} asked with all classes.`] : [],
    about: end ? `${percent(end.y)} in round ${end.x}.` : "",
    empty: noLists(data),
    x: rounds,
    y: { name: "of lists", format: axisPercent, least: 0, most: 1 },
    series: [held],
  };
}

export function alpha(data) {
  const shown = series(data, "alpha", { name: "α", tone: 3 });
  const end = shown.points.at(-1);
  return {
    note: end ? [strong(thousandths.format(end.y)), " was cheapest: the share of lists that may miss the answer."] : [],
    about: end ? `${thousandths.format(end.y)} in round ${end.x}.` : "",
    empty: noLists(data),
    x: rounds,
    y: { name: "share that may miss", format: (x) => thousandths.format(x), zero: true },
    series: [shown],
  };
}

export function speed(data) {
  const points = data.speed.map(({ options, n, median, low, high }) => ({ x: options, y: median, low, high, n }));
  const { fit } = data;
  const formula = fit && `${hundredths.format(fit.a)} ${fit.b < 0 ? "−" : "+"} ${hundredths.format(Math.abs(fit.b))} · log₂(options) seconds`;
  return {
    note: fit
      ? ["Fitted: ", strong(formula), `. ${pricing(data)}`]
      : unfitted(points),
    about: fit ? `Fitted: ${formula}.` : "",
    empty: "No answer has been timed yet.",
    x: { name: "Options shown (log₂)", log: true, words: (n) => `${count(n)} options` },
    y: { name: "seconds a stage took", format: seconds, zero: true },
    series: [
      { name: "The paper’s study: 1.59 s a bit", tone: 4, dash: true, curve: logCurve({ a: 0, b: STUDY }) },
      ...(fit ? [{ name: "Fitted", tone: 1, curve: logCurve(fit) }] : []),
      { name: "Median and quartiles", tone: 2, bars: true, points },
    ],
  };
}

/** Why there is no curve yet. */
function unfitted(points) {
  const timed = points.reduce((sum, { n }) => sum + n, 0);
  if (points.length === 1 && timed >= ENOUGH) return [`All ${count(timed)} stages timed so far showed ${plural(points[0].x, "option")}: a curve needs two numbers of them.`];
  return timed ? [`A curve is fitted once ${ENOUGH} stages are timed: ${count(timed)} so far.`] : [];
}

const noLists = (data) =>
  data.rounds.length > 1 ? "No shortlists were asked." : "Shortlists begin with round 2, when there is a model.";

const pricing = ({ price, unit }) =>
  price === "measured" ? "Lists are made by it." : `Lists are made by ${unit}; price = "measured" has them made by this.`;
const saving = (x) => (x > 0 ? `${percent(x)} saved` : "Nothing saved");
const strong = (words) => ({ strong: words });
