// The owner's last word: items that people differ about, one after the other, and those that were set aside.

import { call } from "../shared/api.js";
import { ClassIndex } from "../shared/class_search.js";
import { button, byId, make } from "../shared/elements.js";
import { ItemView, prepare } from "../shared/item_view.js";
import { areDigits, keyOf } from "../shared/keys.js";
import { complain, hush, tell } from "../shared/messages.js";
import { SearchBox } from "../shared/search_box.js";
import { WITHOUT_CLASS } from "../shared/stages.js";
import { capital, plural } from "../shared/words.js";

const MOST_KEYS = 9;

const place = byId("message");
const view = new ItemView({
  body: byId("item-body"),
  caption: byId("item-key"),
  onSetAside: () => decide("unreadable"),
  onAgain: () => show(current),
});
const search = new SearchBox({
  root: byId("search"),
  input: byId("query"),
  list: byId("hits"),
  counter: byId("hits-count"),
  onPick: (cls) => decide("label", cls),
  onLeave: () => closeSearch(),
});

let names = [];
let index = null;
let waiting = []; // cases not decided: {question, item, votes, aside}
let current = null;
let busy = false;
const decided = []; // cases in the order they were decided, to come back to

byId("another").addEventListener("click", openSearch);
byId("nothing").addEventListener("click", () => decide("none"));
byId("unreadable").addEventListener("click", () => decide("unreadable"));
byId("later").addEventListener("click", later);
byId("back").addEventListener("click", back);
byId("again").addEventListener("click", load);
document.addEventListener("keydown", onKey);
load();

async function load() {
  try {
    const [classes, { disputes }] = await Promise.all([call("GET", "/api/classes"), call("GET", "/api/disputes"), showAside()]);
    names = classes.names;
    index = new ClassIndex(names);
    waiting = disputes;
    next();
  } catch (error) {
    complain(place, error);
  }
}

// ---- one case ----

function next() {
  current = waiting[0] ?? null;
  byId("case").hidden = current === null;
  byId("nothing-left").hidden = current !== null;
  byId("back").disabled = decided.length === 0;
  byId("back-idle").hidden = decided.length === 0;
  byId("left").textContent = waiting.length ? `${plural(waiting.length, "item")} to decide` : "";
  if (current) show(current);
}

function show(one) {
  current = one;
  closeSearch();
  byId("note").value = "";
  byId("case-title").textContent = one.aside ? "Set aside: what is it after all?" : "People differ: what is it?";
  byId("votes").replaceChildren(...one.votes.map(vote));
  const voted = ballots(one.votes);
  byId("options").replaceChildren(...voted.map(option));
  byId("later").disabled = waiting.length < 2 && !one.aside;
  view.show(prepare(one));
  if (!voted.length) openSearch({ focus: false });
}

const inWords = ({ kind, label }) => (label === null ? (WITHOUT_CLASS[kind] ?? kind) : names[label]);

function vote(one) {
  return make(
    "li",
    {},
    make("b", {}, one.person ?? "The dataset"), make("span", {}, inWords(one)),
    one.note ? make("q", { class: "vote-note" }, one.note) : null,
  );
}

/** The classes that were voted for, those with most votes first: [class, voters]. */
function ballots(votes) {
  const voters = new Map();
  for (const { label, person } of votes) if (label !== null) voters.set(label, [...(voters.get(label) ?? []), person]);
  return [...voters].sort((a, b) => b[1].length - a[1].length);
}

function option([cls, people], at) {
  const digit = areDigits(names) ? names[cls] : String(at + 1);
  const key = at < MOST_KEYS ? make("kbd", { "aria-hidden": "true" }, digit) : null;
  const more = { "aria-keyshortcuts": at < MOST_KEYS ? digit : null, "data-cls": String(cls) };
  const made = button([], () => decide("label", cls), "option", more);
  made.append(...[key, make("span", { class: "option-name" }, names[cls]), make("span", { class: "voters" }, people.join(", "))].filter(Boolean));
  return made;
}

// ---- deciding ----

async function decide(kind, label = null) {
  if (busy || !current) return;
  busy = true;
  hush(place);
  const one = current;
  const note = byId("note").value.trim() || null;
  try {
    await call("POST", "/api/decisions", { question: one.question, kind, label, note });
  } catch (error) {
    return complain(place, error);
  } finally {
    busy = false;
  }
  settled(one, inWords({ kind, label }).replace(/^cannot/, "one that cannot"));
}

function settled(one, words) {
  decided.push(one);
  waiting = waiting.filter((other) => other !== one);
  next();
  const end = waiting.length ? "" : " That was the last one.";
  tell(place, `Decided: ${one.item.key} is ${words}.${end}`);
  byId(current ? "case-title" : "idle-title").focus();
  showAside().catch((error) => complain(place, error)); // in the background
}

/** To the end of the row. */
function later() {
  if (!current || byId("later").disabled) return;
  waiting = [...waiting.filter((other) => other !== current), ...(current.aside ? [] : [current])];
  next();
  byId(current ? "case-title" : "idle-title").focus();
}

/** The last decision again: a new one takes its place. */
function back() {
  const one = decided.pop();
  if (!one) return;
  waiting = [one, ...waiting.filter((other) => other !== one)];
  hush(place);
  next();
  byId("case-title").focus();
}

byId("back-idle").addEventListener("click", back);

function openSearch({ focus = true } = {}) {
  byId("another").setAttribute("aria-expanded", "true");
  search.open(index, names.map((_, cls) => cls), null);
  if (focus) byId("query").focus();
}

function closeSearch() {
  if (byId("search").contains(document.activeElement)) byId("another").focus();
  search.close();
  byId("another").setAttribute("aria-expanded", "false");
}

function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (!current || typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = keyOf(event);
  const chosen = /^[0-9]$/.test(key) ? byId("options").querySelector(`[aria-keyshortcuts="${key}"]`) : null;
  const act = chosen ? () => chosen.click() : { x: () => decide("none"), u: () => decide("unreadable"), "/": () => openSearch(), n: () => byId("note").focus(), s: later, Backspace: back }[key];
  if (!act) return;
  event.preventDefault();
  act();
}

// ---- what was set aside ----

async function showAside() {
  const { items } = await call("GET", "/api/set-aside");
  byId("aside-count").textContent = items.length ? `(${items.length})` : "";
  byId("aside").replaceChildren(...items.map(asideItem));
  byId("aside-none").hidden = items.length > 0;
}

function asideItem(one) {
  const why = `${capital(WITHOUT_CLASS[one.why])}${one.person ? `, says ${one.person}` : ""}`;
  return make(
    "li",
    { class: "aside-item" },
    glimpse(one.item),
    make("div", { class: "aside-words" }, make("span", { class: "aside-key" }, one.item.key), make("span", {}, why), one.note ? make("q", {}, one.note) : null),
    one.question === null ? null : button("Label it after all", () => takeBack(one), "button small", { "aria-label": `Label it after all: ${one.item.key}` }),
  );
}

function glimpse(item) {
  if (item.kind === "image") return make("img", { src: item.src, alt: "", loading: "lazy", class: "glimpse" });
  const words = item.kind === "text" ? item.text.slice(0, 120) : `${item.values.length} numbers`;
  return make("span", { class: "glimpse words" }, words);
}

function takeBack({ question, item, why, person, note }) {
  waiting = [{ question, item, votes: [{ person, kind: why, label: null, note }], aside: true }, ...waiting.filter((one) => !one.aside)];
  hush(place);
  next();
  byId("case").scrollIntoView({ block: "start" });
  byId("query").focus();
}
