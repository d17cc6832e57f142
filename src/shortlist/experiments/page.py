"""The page a report is written on: escaping, style, and the script that brings the figures to life.

Nothing is loaded from anywhere. The page says so to the browser as well: its policy allows the one script that is
in it, known by its hash, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

import vl_convert

from shortlist.experiments import figures


class Html(str):
    """Text that is HTML already. Any other text is escaped on its way in."""


def html(part: object) -> Html:
    """
    >>> html("<b>"), html(Html("<b>")), html(None)
    ('&lt;b&gt;', '<b>', '')
    """
    if part is None:
        return Html()
    return part if isinstance(part, Html) else Html(escape(str(part)))


def together(*parts: object) -> Html:
    return Html("".join(html(part) for part in parts))


def el(name: str, *inside: object, **attributes: object) -> Html:
    """An element; `class_` is class, `data_x` is data-x, True a bare attribute, None none.

    >>> el("a", "x < y", class_="z", title='"')
    '<a class="z" title="&quot;">x &lt; y</a>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{written}>{together(*inside)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def table(
    header: Sequence[object], rows: Sequence[Sequence[object]], caption: str, *, words: int = 1, best: int | None = None
) -> Html:
    """A table that scrolls by itself on a narrow screen; the first `words` columns hold words, the rest numbers."""
    kinds = [None if column < words else "number" for column in range(len(header))]
    head = [el("th", cell, scope="col", class_=kind) for cell, kind in zip(header, kinds, strict=True)]
    body = [_table_row(row, kinds, best == i) for i, row in enumerate(rows)]
    inside = el("table", el("thead", el("tr", *head)), el("tbody", *body))
    scroll = el("div", inside, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return together(el("p", caption, class_="caption"), scroll)  # outside, so that it stays while the table scrolls


def _table_row(row: Sequence[object], kinds: Sequence[str | None], best: bool) -> Html:
    cells = [el("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)]
    return el("tr", el("th", row[0], scope="row"), *cells, class_="best" if best else None)


def details(title: str, *inside: object, unfolded: bool = False) -> Html:
    return el("details", el("summary", title), *inside, open=unfolded or None)


# --- figures ---------------------------------------------------------------------------------------------------


def figure(chart: Any, name: str, title: str, explanation: str) -> Html:
    """A still picture that the script replaces by one that answers to the mouse and fits the screen."""
    spec = figures.specification(chart)
    spec |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    drawing = el("div", el("div", Html(figures.still(chart)), class_="still"), class_="chart", data_spec=name)
    return el("figure", el("h3", title), drawing, data_block(name, spec), el("figcaption", explanation))


def data_block(name: str, values: Mapping[str, Any]) -> Html:
    """Values for the script. No `<` is left in them, so that nothing inside can end the block."""
    written = json.dumps(values, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="{escape(name)}">{written}</script>')


def legend(looks: Mapping[str, figures.Look]) -> Html:
    """Methods as buttons: pointing at one makes the others step back, in all figures of the section."""
    keys = [el("button", swatch(look), method, type="button", data_method=method) for method, look in looks.items()]
    return el("div", *keys, class_="legend")


def swatch(look: figures.Look) -> Html:
    dash = " ".join(str(d) for d in look.dash)
    line = f'<line x1="1" y1="7" x2="33" y2="7" stroke="{look.colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
    if look.dash == figures.DASHES["candidate_set"]:
        line = line.replace(f' stroke-dasharray="{dash}"', "")
    point = {
        "square": '<rect x="12.5" y="2.5" width="9" height="9"',
        "circle": '<circle cx="17" cy="7" r="4.8"',
        "diamond": '<path d="M17 1.5l5 5.5-5 5.5-5-5.5z"',
        "triangle-up": '<path d="M17 2l5.5 9.5h-11z"',
        "triangle-down": '<path d="M17 12L11.500 2.500h11z"',
    }[look.shape]
    return Html(f'<svg width="34" height="14" aria-hidden="true">{line}{point} fill="{look.colour}"/></svg>')


# --- the page --------------------------------------------------------------------------------------------------


def page(title: str, *sections: object) -> str:
    script = bundle()
    seal = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{seal}'; style-src 'unsafe-inline'; img-src data:"
    head = together(
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        el("title", title),
        Html(f"<style>{STYLE}{_tints()}</style>"),
    )
    body = together(el("main", *sections), Html(f'<script type="module">{script}</script>'))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


@cache
def bundle() -> str:
    """Vega with our few lines, as one script."""
    script = str(vl_convert.javascript_bundle(SCRIPT, vl_version=figures.VEGA_LITE))
    return script.replace("</script", "<\\/script")  # inside a string literal the same; in HTML the end


# The figures are drawn once, in colours of their own; the page gives each its shade for light, dark and paper.
TINTS = {
    figures.INK: "--ink",
    figures.QUIET: "--quiet",
    figures.GRID: "--grid",
    figures.PAPER: "--card",
}
DARK_COLOURS = ("#4aa8e8", "#ff8a3d", "#2cc79a", "#e39cc5", "#f0b429", "#7cc8f5", "#d4699a", "#bcbc52", "#a3a3a3")


def _tints() -> str:
    rules = [
        f'svg [{part}="{colour}"]{{{part}:var({name})}}'
        for colour, name in TINTS.items()
        for part in ("fill", "stroke")
    ]
    dark = [
        f'svg [{part}="{colour}"]{{{part}:{tint}}}'
        for colour, tint in zip(figures.COLOURS, DARK_COLOURS, strict=True)
        for part in ("fill", "stroke")
    ]
    return "\n".join([*rules, "@media screen and (prefers-color-scheme: dark){", *dark, "}"])


SCRIPT = """
const options = {mode: "vega-lite", renderer: "svg", actions: false, ast: true, tooltip: {theme: "custom"}};
async function draw(chart) {
  const spec = JSON.parse(document.getElementById(chart.dataset.spec).textContent);
  const drawing = document.createElement("div");
  chart.append(drawing);
  const {view} = await vegaEmbed(drawing, spec, options);
  chart.querySelector(".still").remove();
  return view;
}
for (const section of document.querySelectorAll("section")) {
  const views = Promise.all([...section.querySelectorAll(".chart")].map(draw));
  let kept = "";
  const show = async method => { for (const view of await views) view.signal("shown", method).run(); };
  for (const key of section.querySelectorAll(".legend button")) {
    const method = key.dataset.method;
    key.addEventListener("mouseenter", () => show(method));
    key.addEventListener("mouseleave", () => show(kept));
    key.addEventListener("click", () => {
      kept = kept === method ? "" : method;
      for (const other of section.querySelectorAll(".legend button"))
        other.setAttribute("aria-pressed", String(kept !== "" && other.dataset.method === kept));
      show(kept);
    });
  }
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const one of opened) one.open = true;
});
addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
"""

STYLE = """
:root { --paper: #f4f6f8; --card: #fefefe; --ink: #1f2934; --quiet: #5b6775; --grid: #e3e7ec; --edge: #dde2e8;
  --good: #007a57; --bad: #b3401f; --bar: #0072b2; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #12161b; --card: #1b2128; --ink: #e8ecf1; --quiet: #a3afbd; --grid: #303943; --edge: #303943;
    --good: #35cf9f; --bad: #ff8f6b; --bar: #4aa8e8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 15px; font-weight: 600; margin: 0 0 8px; color: var(--quiet); }
h2 { font-size: clamp(28px, 5.2vw, 46px); line-height: 1.12; letter-spacing: -0.02em; margin: 4px 0 16px;
  text-wrap: balance; }
h2 b { color: var(--good); white-space: nowrap; } h2 b.dearer { color: var(--bad); }
h3 { font-size: 17px; line-height: 1.3; margin: 0 0 12px; }
h4 { font-size: 15px; margin: 20px 0 8px; }
p { margin: 0 0 12px; max-width: 72ch; }
section { margin-bottom: 72px; }
section + section { border-top: 1px solid var(--edge); padding-top: 40px; }
.subject { color: var(--quiet); margin: 0; max-width: none; overflow-wrap: anywhere; }
.lead { font-size: 18px; }
.block, figure { background: var(--card); border: 1px solid var(--edge); border-radius: 12px; padding: 20px;
  margin: 20px 0 0; break-inside: avoid; }
.block > :last-child { margin-bottom: 0; }
.notice { border-left: 4px solid var(--bad); }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: 10px 16px; align-items: center;
  margin: 24px 0 0; max-width: 820px; }
.bars div { display: flex; align-items: center; gap: 12px; min-width: 0; }
.bars i { display: block; height: 26px; border-radius: 5px; background: var(--bar); min-width: 2px; flex: 0 0 auto;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bars i.plain { background: var(--quiet); opacity: 0.45; }
.bars b { white-space: nowrap; font-variant-numeric: tabular-nums; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr)); gap: 12px 28px; margin: 24px 0 0; }
.facts div { border-top: 2px solid var(--edge); padding-top: 8px; }
.facts dt { color: var(--quiet); font-size: 14px; }
.facts dd { margin: 0; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 8px; margin: 28px 0 0; position: sticky; top: 0; z-index: 2;
  background: var(--paper); padding: 8px 0; }
.legend button { display: inline-flex; align-items: center; gap: 8px; font: inherit; font-size: 15px; color: inherit;
  background: none; border: 1px solid transparent; border-radius: 8px; padding: 3px 8px; cursor: pointer; }
.legend button:hover { background: var(--card); }
.legend button[aria-pressed="true"] { border-color: var(--quiet); background: var(--card); }
.legend + figure { margin-top: 4px; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 20px;
  margin-top: 20px; }
.pair figure { margin: 0; min-width: 0; display: flex; flex-direction: column; }
figcaption { color: var(--quiet); font-size: 14.5px; margin-top: 12px; max-width: 78ch; }
.chart, .chart > div { width: 100%; }
.chart svg { display: block; max-width: 100%; height: auto; }
.chart text, .chart svg { font-family: inherit !important; }
.scroll { overflow-x: auto; margin: 0 -20px; padding: 0 20px; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; font-variant-numeric: tabular-nums; }
.caption { color: var(--quiet); font-size: 14.5px; margin: 0 0 8px; max-width: 78ch; }
th, td { text-align: left; padding: 7px 8px; border-top: 1px solid var(--grid); vertical-align: top; }
th { font-weight: 600; } thead th { border-top: 0; color: var(--quiet); font-size: 13px; vertical-align: bottom; }
tbody th { white-space: nowrap; position: sticky; left: 0; background: var(--card); }
tbody th:empty { border-top-color: transparent; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
td.wide { overflow-wrap: anywhere; }
tr.best th, tr.best td { background: color-mix(in srgb, var(--good) 9%, var(--card)); }
details { border-top: 1px solid var(--grid); } details:first-of-type { border-top: 0; }
summary { cursor: pointer; padding: 10px 0; font-weight: 600; }
details > :last-child { margin-bottom: 14px; }
pre { margin: 0; padding: 12px 14px; background: var(--paper); border-radius: 8px; overflow-x: auto; font-size: 13px; }
dl.terms { display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; margin: 0; font-size: 14.5px; }
dl.terms dt { font-weight: 600; } dl.terms dd { margin: 0; }
footer { color: var(--quiet); font-size: 14px; }
ul { margin: 0; padding-left: 20px; }
#vg-tooltip-element.vg-tooltip.custom-theme { background: var(--card); color: var(--ink); border: 1px solid var(--edge);
  border-radius: 8px; box-shadow: 0 6px 24px rgb(0 0 0 / 0.22); font: inherit; font-size: 13.5px; padding: 8px 12px; }
#vg-tooltip-element.custom-theme table { width: auto; font-size: inherit; }
#vg-tooltip-element.custom-theme td { border: 0; padding: 1px 4px; }
#vg-tooltip-element.custom-theme td.key { color: var(--quiet); }
@media (max-width: 560px) {
  main { padding: 20px 14px 48px; } .block, figure { padding: 16px 14px; }
  .scroll { margin: 0 -14px; padding: 0 14px; }
  .facts { grid-template-columns: 1fr 1fr; } .legend { position: static; }
  .bars { grid-template-columns: 1fr; gap: 2px; } .bars span { margin-top: 8px; }
  dl.terms { grid-template-columns: 1fr; gap: 0; } dl.terms dd { margin-bottom: 8px; }
}
@media print {
  :root { --paper: #fff; --card: #fff; } body { font-size: 12px; } main { max-width: none; padding: 0; }
  .legend { position: static; } .scroll { overflow: visible; margin: 0; padding: 0; } table { font-size: 9.5px; }
  th, td { padding: 3px 4px; } pre { white-space: pre-wrap; font-size: 9px; }
  section { break-after: page; } section:last-of-type { break-after: auto; }
  .pair { grid-template-columns: 1fr 1fr; } .chart svg { width: 100%; max-height: 95mm; }
}
"""
