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
from pathlib import Path
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
    body = []
    for i, row in enumerate(rows):
        cells = [el("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)]
        body.append(el("tr", el("th", row[0], scope="row"), *cells, class_="best" if best == i else None))
    inside = el("table", el("thead", el("tr", *head)), el("tbody", *body))
    scroll = el("div", inside, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return together(el("p", caption, class_="caption"), scroll)  # outside, so that it stays while the table scrolls


def block(title: str, *inside: object, class_: str = "block") -> Html:
    """A part of the page below a heading of its own."""
    return el("div", el("h3", title), *inside, class_=class_)


def details(title: str, *inside: object, unfolded: bool = False) -> Html:
    return el("details", el("summary", title), *inside, open=unfolded or None)


# --- figures ---------------------------------------------------------------------------------------------------


def figure(chart: Any, name: str, title: str, explanation: str) -> Html:
    """A still picture that the script replaces by one that answers to the mouse and fits the screen."""
    spec = figures.specification(chart)
    drawing = el("div", el("div", Html(figures.still(spec)), class_="still"), class_="chart", data_spec=name)
    spec |= {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
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
    if look.dash == figures.SOLID:
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
        Html(f"<style>\n{_beside('report.css')}{_tints()}</style>"),
    )
    body = together(el("main", *sections), Html(f'<script type="module">{script}</script>'))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


@cache
def bundle() -> str:
    """Vega with our few lines, as one script."""
    script = str(vl_convert.javascript_bundle("\n" + _beside("report.js"), vl_version=figures.VEGA_LITE))
    return script.replace("</script", "<\\/script")  # inside a string literal the same; in HTML the end


# The figures are drawn once, in colours of their own; the page gives each its shade for light, dark and paper.
TINTS = {figures.INK: "--ink", figures.QUIET: "--quiet", figures.GRID: "--grid", figures.PAPER: "--card"}
DARK_COLOURS = ("#4aa8e8", "#ff8a3d", "#2cc79a", "#e39cc5", "#f0b429", "#7cc8f5", "#d4699a", "#bcbc52", "#a3a3a3")


def _tints() -> str:
    dark = dict(zip(figures.COLOURS, DARK_COLOURS, strict=True))
    named = {colour: f"var({name})" for colour, name in TINTS.items()}
    return "\n".join([*_shaded(named), "@media screen and (prefers-color-scheme: dark){", *_shaded(dark), "}"])


def _shaded(tints: Mapping[str, str]) -> list[str]:
    """Rules that show what is drawn in a colour in its tint."""
    parts = ("fill", "stroke")
    return [f'svg [{part}="{colour}"]{{{part}:{tint}}}' for colour, tint in tints.items() for part in parts]
