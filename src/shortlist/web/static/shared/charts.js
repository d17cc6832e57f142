// Every figure of the pages, in SVG: lines, bands, points with bars, single points, curves. One tab stop each; arrow keys
// walk along the horizontal axis. Colours come from charts.css by class, so that light and dark need no redrawing.

import { button, byId, draw, make } from "./elements.js";

const HEIGHT = 248;
const LETTER = 7.4; // pixels a character of an axis takes, about
const MARGIN = { top: 30, right: 16, bottom: 44 };
const CURVE_STEPS = 48;
const APART = 9; // pixels between single points of one x, where there is room
const WIDEST = 60; // pixels that they take up together

/**
 * What is drawn:
 * {about, empty, x: {name, log, words(x)}, y: {name, format(y), zero, least, most},
 *  series: [{name, tone, dash, band, bars, scatter, points: [{x, y, low, high, n, title}], curve(x)}]}
 * A series is a line through its points, or its points alone: with `bars` from low to high, or with `scatter`, where
 * several may have one x and stand side by side. One with a `curve` is drawn between the ends of the axis.
 */
export class Chart {
  #spec = null;
  #drawn = ""; // what is on the screen, to leave it alone while nothing changes
  #active = null; // the x that is looked at
  #marks = null;

  constructor(root) {
    const title = root.querySelector("h2").textContent;
    this.title = title;
    this.plot = make("div", { class: "plot", tabindex: "0", role: "img" });
    this.tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.reading = make("p", { class: "visually-hidden", role: "status" });
    this.legend = make("ul", { class: "legend" });
    this.numbers = make("div", { class: "numbers visually-hidden", id: `${root.id}-numbers` });
    this.toggle = button("Show numbers", () => this.#toggle(), "link numbers-toggle", {
      "aria-expanded": "false",
      "aria-controls": this.numbers.id,
    });
    root.append(
      make("div", { class: "plot-area" }, this.plot, this.tip), this.reading,
      make("div", { class: "under" }, this.legend, this.toggle), this.numbers,
    );
    this.#listen();
    new ResizeObserver(() => this.#draw()).observe(this.plot);
  }

  show(spec) {
    this.#spec = spec;
    this.#draw();
  }

  // ---- drawing ----

  #draw() {
    const spec = this.#spec;
    const width = Math.floor(this.plot.clientWidth);
    if (!spec || width < 80) return;
    const all = xs(spec);
    const key = JSON.stringify([width, all.length ? spec : spec.empty, curves(spec, all)]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    const empty = all.length === 0;
    this.plot.setAttribute("aria-label", `${this.title}. ${empty ? spec.empty : `${spec.about} Arrow keys read the points.`}`);
    this.plot.classList.toggle("empty", empty);
    this.toggle.hidden = empty;
    if (empty) {
      this.#marks = null;
      this.plot.replaceChildren(make("p", { class: "nothing", "aria-hidden": "true" }, spec.empty));
      this.legend.replaceChildren();
      this.numbers.replaceChildren();
      return this.#look(null);
    }
    this.#marks = layout(spec, all, width);
    this.plot.replaceChildren(picture(spec, this.#marks, width));
    this.legend.replaceChildren(...(spec.series.length > 1 ? spec.series.map(legendLine) : []));
    this.numbers.replaceChildren(dataTable(this.title, spec, all));
    return this.#look(all.includes(this.#active) ? this.#active : null);
  }

  #toggle() {
    const shown = this.numbers.classList.toggle("visually-hidden") === false;
    this.toggle.setAttribute("aria-expanded", String(shown));
    this.toggle.textContent = shown ? "Hide numbers" : "Show numbers";
  }

  // ---- looking at one place ----

  #listen() {
    this.plot.addEventListener("keydown", (event) => this.#key(event));
    this.plot.addEventListener("blur", () => this.#look(null));
    for (const kind of ["pointermove", "pointerdown"]) {
      this.plot.addEventListener(kind, (event) => this.#look(this.#nearest(event)));
    }
    this.plot.addEventListener("pointerleave", () => this.#look(null));
  }

  #key(event) {
    if (!this.#marks || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = this.#marks.xs;
    const at = this.#active === null ? -1 : all.indexOf(this.#active);
    const to = { ArrowRight: at + 1, ArrowLeft: at < 0 ? all.length - 1 : at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.#look(all[Math.min(Math.max(to, 0), all.length - 1)], true);
    } else if (event.key === "Escape") {
      this.#look(null);
    }
  }

  #nearest(event) {
    if (!this.#marks) return null;
    const at = event.clientX - this.plot.getBoundingClientRect().left;
    const far = (x) => Math.abs(this.#marks.x(x) - at);
    return this.#marks.xs.reduce((best, x) => (far(x) < far(best) ? x : best));
  }

  #look(x, aloud = false) {
    this.#active = x;
    this.plot.querySelector(".cursor")?.remove();
    this.tip.hidden = x === null;
    if (x === null) {
      this.reading.textContent = "";
      return;
    }
    const lines = reading(this.#spec, x);
    const { x: across, top, bottom, width } = this.#marks;
    this.plot.firstChild.append(
      draw("path", { class: "cursor", d: `M${across(x)} ${top}V${bottom}` }),
    );
    this.tip.replaceChildren(
      make("strong", {}, this.#spec.x.words(x)),
      ...lines.map(({ series, words }) => make("span", {}, swatch(series), make("span", {}, series.name), make("b", {}, words))),
    );
    const room = this.tip.offsetWidth;
    const left = across(x) + 12 + room > width ? across(x) - 12 - room : across(x) + 12;
    this.tip.style.setProperty("left", `${Math.max(0, Math.min(left, width - room))}px`);
    if (aloud) this.reading.textContent = `${this.#spec.x.words(x)}: ${lines.map(({ series, words }) => `${series.name} ${words}`).join("; ")}`;
  }
}

export const chart = (id) => new Chart(byId(id));

// ---- from what is to be drawn to where it lies ----

const xs = (spec) => [...new Set(spec.series.flatMap((one) => (one.points ?? []).map((point) => point.x)))].sort((a, b) => a - b);

const curves = (spec, at) => spec.series.filter((one) => one.curve).map((one) => at.map(one.curve));

function layout(spec, all, width) {
  const ys = extent(spec, all);
  const yTicks = verticalTicks(spec, ys);
  const left = 12 + LETTER * Math.max(...yTicks.map((tick) => spec.y.format(tick).length));
  const [top, bottom, right] = [MARGIN.top, HEIGHT - MARGIN.bottom, width - MARGIN.right];
  const xTicks = horizontalTicks(spec, all, right - left);
  const ends = spec.x.log ? [xTicks[0], xTicks.at(-1)] : [all[0], all.at(-1)];
  const single = spec.series.filter((one) => one.scatter).flatMap((one) => one.points);
  const inset = single.length ? WIDEST / 2 : spec.x.log ? 0 : 12;
  return {
    beside: sideBySide(single),
    xs: all, ends, xTicks, yTicks, left, right, top, bottom, width,
    x: scale(ends, [left + inset, right - inset], spec.x.log ? Math.log2 : undefined),
    y: scale([yTicks[0], yTicks.at(-1)], [bottom, top]),
  };
}

/** How far, in pixels, each single point stands from the others of its x: none hides another. */
function sideBySide(points) {
  const groups = Map.groupBy(points, ({ x }) => x);
  return new Map([...groups.values()].flatMap((group) => {
    const apart = Math.min(APART, WIDEST / group.length);
    return group.map((point, i) => [point, (i - (group.length - 1) / 2) * apart]);
  }));
}

function extent(spec, all) {
  const points = spec.series.flatMap((one) => one.points ?? []);
  const values = points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]);
  values.push(...curves(spec, [all[0], all.at(-1)]).flat());
  return [Math.min(...values), Math.max(...values)];
}

function verticalTicks({ y }, [low, high]) {
  const room = y.zero ? 0 : 0.08 * (high - low) || 0.02 * Math.abs(high) || 1;
  const least = Math.max(y.zero ? 0 : low - room, y.least ?? -Infinity);
  const most = Math.min(y.zero ? high || 1 : high + room, y.most ?? Infinity);
  return roundTicks(least, most, 4).filter((tick) => tick >= (y.least ?? -Infinity) && tick <= (y.most ?? Infinity));
}

function horizontalTicks(spec, all, room) {
  if (!spec.x.log) return wholeTicks(all[0], all.at(-1), Math.max(2, Math.floor(room / 34)));
  return powerTicks(all[0], all.at(-1));
}

// ---- the picture ----

function picture(spec, at, width) {
  return draw(
    "svg",
    { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true", focusable: "false" },
    at.yTicks.map((tick) => yMark(spec, at, tick)),
    at.xTicks.map((tick) => xMark(at, tick)),
    draw("path", { class: "axis", d: `M${at.left} ${at.bottom}H${at.right}` }),
    draw("text", { class: "axis-name", x: 0, y: 12 }, spec.y.name),
    draw("text", { class: "axis-name", x: at.right, y: HEIGHT - 4, "text-anchor": "end" }, spec.x.name),
    spec.series.filter((one) => one.band).map((one) => band(one, at)),
    spec.series.map((one) => (one.curve ? curve(one, at) : line(one, at))),
  );
}

function yMark(spec, at, tick) {
  return draw(
    "g",
    {},
    draw("path", { class: "grid", d: `M${at.left} ${at.y(tick)}H${at.right}` }),
    draw("text", { class: "tick", x: at.left - 8, y: at.y(tick) + 4, "text-anchor": "end" }, spec.y.format(tick)),
  );
}

function xMark(at, tick) {
  return draw("text", { class: "tick", x: at.x(tick), y: at.bottom + 18, "text-anchor": "middle" }, String(tick));
}

const tone = (series, more) => `${more} tone-${series.tone}${series.dash ? " dash" : ""}`;

function line(series, at) {
  const { points } = series;
  return draw(
    "g",
    {},
    series.bars ? points.filter(({ low }) => low !== undefined).map((point) => errorBar(series, point, at)) : null,
    hasLine(series) ? draw("path", { class: tone(series, "line"), d: pathThrough(points, at) }) : null,
    points.map((point) => dot(series, point, at)),
  );
}

function dot(series, point, at) {
  const cx = at.x(point.x) + (at.beside.get(point) ?? 0);
  return draw("circle", { class: tone(series, "dot"), cx, cy: at.y(point.y), r: 3.5 }, point.title ? draw("title", {}, point.title) : null);
}

const hasLine = (series) => !series.bars && !series.scatter;

const pathThrough = (points, at) => points.map(({ x, y }, i) => `${i ? "L" : "M"}${at.x(x)} ${at.y(y)}`).join("");

function errorBar(series, { x, low, high }, at) {
  const across = at.x(x);
  const [from, to] = [at.y(low), at.y(high)];
  return draw("path", { class: tone(series, "bar"), d: `M${across} ${from}V${to}M${across - 4} ${from}h8M${across - 4} ${to}h8` });
}

function band(series, at) {
  const points = series.points.filter((point) => point.low !== undefined);
  const there = points.map(({ x, high }) => `${at.x(x)} ${at.y(high)}`);
  const back = points.toReversed().map(({ x, low }) => `${at.x(x)} ${at.y(low)}`);
  if (points.length === 1) return errorBar(series, points[0], at);
  return draw("path", { class: `band tone-${series.tone}`, d: points.length ? `M${[...there, ...back].join("L")}z` : "" });
}

function curve(series, at) {
  const [low, high] = at.ends.map((x) => Math.log2(x));
  const points = Array.from({ length: CURVE_STEPS + 1 }, (_, i) => {
    const x = 2 ** (low + (i * (high - low)) / CURVE_STEPS);
    return { x, y: series.curve(x) };
  });
  return draw("path", { class: tone(series, "line"), d: pathThrough(points, at) });
}

// ---- words ----

function swatch(series) {
  const parts = [];
  if (hasLine(series)) parts.push(draw("path", { class: tone(series, "line"), d: "M1 6H21" }));
  if (!series.curve) parts.push(draw("circle", { class: tone(series, "dot"), cx: 11, cy: 6, r: 3.5 }));
  return draw("svg", { class: "swatch", viewBox: "0 0 22 12", width: 22, height: 12, "aria-hidden": "true" }, parts);
}

const legendLine = (series) => make("li", {}, swatch(series), series.name);

/** What every series says at x. */
function reading(spec, x) {
  return spec.series.flatMap((series) => {
    const words = valueAt(spec, series, x);
    return words ? [{ series, words }] : [];
  });
}

function valueAt(spec, series, x) {
  if (series.curve) return spec.y.format(series.curve(x), true);
  const here = series.points.filter((one) => one.x === x);
  if (here.length > 1) return rangeOf(here.map(({ y }) => y), spec.y.format);
  const [point] = here;
  if (!point) return "";
  const range = point.low === undefined ? "" : ` (${spec.y.format(point.low, true)}–${spec.y.format(point.high, true)})`;
  const from = point.n === undefined ? "" : `, n = ${point.n}`;
  return `${spec.y.format(point.y, true)}${range}${from}`;
}

const rangeOf = (values, format) => `${format(Math.min(...values), true)}–${format(Math.max(...values), true)}, n = ${values.length}`;

function dataTable(title, spec, all) {
  const heads = [spec.x.name, ...spec.series.map((one) => one.name)];
  const row = (x) => make("tr", {}, make("th", { scope: "row" }, spec.x.words(x)), spec.series.map((one) => make("td", {}, valueAt(spec, one, x) || "–")));
  return make(
    "table",
    {},
    make("caption", { class: "visually-hidden" }, title),
    make("thead", {}, make("tr", {}, heads.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, all.map(row)),
  );
}

/** A cost in seconds, a + b · log₂(options), as a curve. */
export const logCurve = ({ a, b }) => (options) => Math.max(0, a + b * Math.log2(options));

// ---- from numbers to places, and where an axis has its marks ----

/** Round numbers (1, 2, 2.5 or 5 times a power of ten) that cover low to high with about n steps. */
export function roundTicks(low, high, n = 5) {
  const step = roundStep((high - low || Math.abs(high) || 1) / n);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 2.5, 5, 10].find((times) => times * power >= least * (1 - 1e-9));
}

/** Whole numbers from low to high, at most n of them, evenly spaced. */
export function wholeTicks(low, high, n) {
  const step = Math.max(1, Math.ceil(roundStep(Math.max((high - low) / Math.max(1, n - 1), 1e-9))));
  const first = step === 1 ? low : Math.ceil(low / step) * step;
  const ticks = [];
  for (let at = first; at <= high; at += step) ticks.push(at);
  return ticks.length ? ticks : [low];
}

/** Powers of two that cover low to high. */
export function powerTicks(low, high) {
  const first = Math.floor(Math.log2(Math.max(1, low)) + 1e-9);
  const last = Math.max(Math.ceil(Math.log2(Math.max(1, high)) - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));
}

/** A function from [low, high] to [from, to]; a domain of one number lies in the middle. */
function scale([low, high], [from, to], via = (x) => x) {
  const a = via(low);
  const width = via(high) - a;
  return (x) => (width === 0 ? (from + to) / 2 : from + ((via(x) - a) / width) * (to - from));
}
