// The figure of a user study: seconds a question against the number of options, of people, groups and the paper's.

import { chart, logCurve } from "../shared/charts.js";
import { byId } from "../shared/elements.js";

const seconds = (y, exact) => (exact ? `${y.toFixed(2)} s` : String(y));

/** Draws it into a page of results, if there is anything to draw yet. */
export function drawFigure() {
  const place = byId("figure");
  if (place) chart(place.id).show(figureOf(JSON.parse(place.dataset.figure)));
}

function figureOf({ people, means, paper, fit }) {
  const points = (leftOut) =>
    people
      .filter((person) => person.left_out === leftOut)
      .map(({ x, y, person, right }) => ({ x, y, title: `person ${person}: ${seconds(y, true)} a question, ${(100 * right).toFixed(0)}% right` }));
  const out = points(true);
  return {
    about: "The numbers stand in the table below.",
    empty: "",
    x: { name: "Options (log₂)", log: true, words: (n) => `${n} options` },
    y: { name: "seconds a question", format: seconds, zero: true },
    series: [
      ...(fit ? [{ name: "Fitted cost", tone: 1, curve: logCurve(fit) }] : []),
      { name: "A person", tone: 1, scatter: true, points: points(false) },
      ...(out.length ? [{ name: "Left out by the rule", tone: 4, dash: true, scatter: true, points: out }] : []),
      { name: "The paper’s mean", tone: 2, dash: true, bars: true, points: paper },
      { name: "Mean of a group", tone: 3, bars: true, points: means },
    ],
  };
}
