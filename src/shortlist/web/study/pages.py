"""Templates to pages. Whatever comes in from outside is escaped on its way."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from shortlist.web.study.chart import draw
from shortlist.web.study.results import (
    EVERYBODY,
    HEADER,
    RULE,
    Results,
    cells,
    cost_line,
    paper_cells,
    sentences,
    who,
    written,
)

HERE = Path(__file__).parents[1]  # of all pages
STATIC = HERE / "static"


@cache
def templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(name: str, **values: Any) -> str:
    return templates().get_template(f"study_{name}.html").render(values)


def results_page(found: Results, name: str, *, style: str | None = None) -> str:
    """The table, the figure and the cost model. With `style`, a file that needs nothing beside it."""
    seal = base64.b64encode(hashlib.sha256((style or "").encode()).digest()).decode()
    tables = [(RULE, found.ruled), (EVERYBODY, found.everybody)]
    return page(
        "results",
        study=name,
        style=style,
        policy=f"default-src 'none'; style-src 'sha256-{seal}'",
        who=who(found),
        items=found.items,
        header=HEADER,
        tables=[
            {
                "title": title,
                "rows": [(*cells(group), *paper_cells(group.options)) for group in table.groups],
                "sentences": sentences(table) if table.groups else [],
                "left_out": len(table.left_out),
            }
            for title, table in tables
        ],
        chart=draw(found.sessions, found.ruled),
        cost=cost_line(found.ruled.fit) if found.ruled.fit else None,
        written=written,
    )


def standalone(found: Results, name: str) -> str:
    return results_page(found, name, style=(STATIC / "study.css").read_text(encoding="utf-8"))
