// The campaign in figures. They are asked for every few seconds while the page is looked at, and redrawn where they changed.

import { call } from "../shared/api.js";
import { chart } from "../shared/charts.js";
import { byId, make } from "../shared/elements.js";
import * as figures from "./figures.js";
import { sentence } from "../shared/messages.js";
import { table } from "./tables.js";
import { now } from "../shared/times.js";
import { amount, count, doing, minutes, pace, plural, savedShare } from "../shared/words.js";

const EVERY = 5000; // milliseconds
const CHARTS = ["cost", "accuracy", "listSize", "coverage", "alpha", "speed"];
const PURPOSES = {
  holdout: "Holdout, which only measures",
  initial: "First random items",
  calibration: "Calibration",
  query: "Shortlists",
  ahead: "Asked ahead",
  import: "Imported",
  subtotal: "The round",
};

const charts = new Map(CHARTS.map((name) => [name, chart(`chart-${name}`)]));
let timer = null;
let asking = false;

document.addEventListener("visibilitychange", look);
look();

async function look() {
  clearTimeout(timer);
  if (document.hidden || asking) return;
  asking = true;
  const goesOn = await refresh();
  asking = false;
  if (goesOn && !document.hidden) timer = setTimeout(look, EVERY);
}

async function refresh() {
  try {
    const [data, status] = await Promise.all([call("GET", "/api/dashboard"), call("GET", "/api/status")]);
    show(data, status);
    setText(byId("fresh"), `As of ${now()}`);
    byId("trouble").textContent = "";
    return true;
  } catch (error) {
    const words = error.signedOut ? "You are signed out. Load this page again to sign in." : `${sentence(error)} The page goes on trying.`;
    setText(byId("trouble"), words); // the same sentence is announced once
    return !error.signedOut;
  }
}

function show(data, status) {
  strip(data, status);
  advise(data.advice);
  for (const [name, one] of charts) {
    const spec = figures[name](data);
    setParts(byId(`chart-${name}`).querySelector(".chart-note"), spec.note);
    one.show(spec);
  }
  ledger(data);
  notes(data);
  byId("figures").setAttribute("aria-busy", "false");
}

// ---- the strip ----

function strip(data, status) {
  const measured = data.rounds.findLast((round) => round.accuracy !== null);
  const whole = status.cost + status.saved;
  setText(byId("doing"), doing(status, false));
  byId("doing").classList.toggle("trouble", Boolean(status.error));
  tile("answers", count(status.done), `${count(status.items_done)} of ${plural(status.items, "item")} done, ${count(status.left)} left`);
  tile("cost", `${amount(status.cost)} ${data.unit}`, `all classes every time: ${amount(whole)}`);
  const share = savedShare(status);
  tile("saved", share > 0 ? figures.percent(share) : "–", share > 0 ? saving(data, status) : "nothing yet");
  tile("accuracy", measured ? figures.percent(measured.accuracy) : "–", measured?.interval ? `95 % interval ${measured.interval.map(figures.percentage).join("–")}` : "not measured yet");
  const busy = status.people ? `, ${plural(status.people, "person", "people")} at work` : "";
  tile("round", String(status.round), `${plural(status.open, "question")} open${busy}`);
}

/** What has been saved in the campaign's unit, or as time where that is known, and how that was worked out. */
function saving(data, status) {
  if (!data.pace) return `${amount(status.saved)} ${data.unit}; as time once ${figures.ENOUGH} answers each are timed with lists and without`;
  return status.saved_minutes > 0 ? `${minutes(status.saved_minutes)}: ${pace(data.pace)}` : `no time: ${pace(data.pace)}`;
}

let adviceShown = null;

function advise(advice) {
  const key = JSON.stringify(advice);
  if (key === adviceShown) return;
  adviceShown = key;
  byId("advice").hidden = !advice;
  setText(byId("advice-says"), advice?.says ?? "");
  byId("advice-helps").replaceChildren(...(advice?.helps ?? []).map((one) => make("li", {}, one)));
}

function tile(name, value, more) {
  setText(byId(`tile-${name}`), value);
  setText(byId(`tile-${name}-more`), more);
}

// ---- tables ----

let ledgerShown = "";

function ledger(data) {
  const key = JSON.stringify(data.ledger);
  if (key === ledgerShown) return;
  ledgerShown = key;
  const paid = data.ledger.filter((line) => line.purpose !== "holdout");
  const sum = (field) => paid.reduce((total, line) => total + line[field], 0);
  byId("ledger").replaceChildren(
    data.ledger.length
      ? table({
          caption: "Answers and cost by round and purpose, newest first",
          columns: [
            { name: "Round", of: (line) => String(line.round) },
            { name: "For", of: (line) => PURPOSES[line.purpose] ?? line.purpose },
            { name: "Answers", number: true, of: (line) => count(line.answers) },
            { name: `Cost (${data.unit})`, number: true, of: (line) => amount(line.cost) },
            { name: "An answer", number: true, of: (line) => (line.answers ? (line.cost / line.answers).toFixed(2) : "–") },
          ],
          rows: withSubtotals(data.ledger).toReversed(),
          cards: false,
          foot: ["All", "Without the holdout", count(sum("answers")), amount(sum("cost")), sum("answers") ? (sum("cost") / sum("answers")).toFixed(2) : "–"],
        })
      : make("p", { class: "hint" }, "Nothing has been answered yet."),
  );
}

/** What the lines of a round come to, where there are several. It stands before them, for they are shown from the last on. */
function withSubtotals(lines) {
  const rounds = [...Map.groupBy(lines, (line) => line.round)];
  return rounds.flatMap(([round, its]) => (its.length > 1 ? [subtotal(round, its), ...its] : its));
}

function subtotal(round, lines) {
  const sum = (field) => lines.reduce((total, line) => total + line[field], 0);
  return { round, purpose: "subtotal", answers: sum("answers"), cost: sum("cost"), isSum: true };
}

function notes(data) {
  const sentences = [...(data.ending ? [`Over: ${data.ending}`] : []), ...data.notes];
  byId("notes-section").hidden = sentences.length === 0;
  if (byId("notes").childElementCount !== sentences.length) byId("notes").replaceChildren(...sentences.map((note) => make("li", {}, sentence(note))));
}

// ---- only what changed is touched: nothing flickers, and nothing is announced twice ----

function setText(place, words) {
  if (place.textContent !== words) place.textContent = words;
}

function setParts(place, parts) {
  const words = parts.map((part) => part.strong ?? part).join("");
  if (place.textContent === words) return;
  place.replaceChildren(...parts.map((part) => (part.strong ? make("strong", {}, part.strong) : part)));
}
