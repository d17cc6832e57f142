"""docs/BENCHMARKS.md from the results that were kept. The page is made, never typed.

python benchmarks/page.py
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from kept import RESULTS, Kept, Row

PAGE = Path(__file__).parents[1] / "docs" / "BENCHMARKS.md"
HEAD = """# Benchmarks

Made by `python benchmarks/page.py` from `benchmarks/results/`, which benchmarks write when they are run with `--keep`.
Ratios are taken in one run, both sides on the same data. A bar is what we set out to reach; a missed one is shown.
"""
NOTHING = "\nNothing has been kept yet.\n"


def page(results: Path = RESULTS, beside: Path = PAGE.parent) -> str:
    """The whole page; links are relative to the folder `beside` which it lies in."""
    found = [(path, Kept.read(path)) for path in sorted(results.glob("*.json"))]
    sections = [_section(kept, _figure(path, beside)) for path, kept in found]
    return "\n".join([HEAD, *sections]) if sections else HEAD + NOTHING


def _section(kept: Kept, figure: str | None) -> str:
    words = [f"## {kept.title}", kept.note, "\n".join(_table(kept.rows))]
    if figure is not None:
        words.append(f"![{kept.title}]({figure})")
    return "\n\n".join(word for word in [*words, _provenance(kept)] if word) + "\n"


def _table(rows: tuple[Row, ...]) -> Iterator[str]:
    yield "| | measured | bar | |"
    yield "|---|---|---|---|"
    for about, lines in groupby(rows, key=lambda row: row.about):
        if about:
            yield _cells(f"**{about}**", "", "", "")
        for row in lines:
            yield _cells(row.what, row.measured, row.bar, "" if row.met is None else "met" if row.met else "**missed**")


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _figure(path: Path, beside: Path) -> str | None:
    figure = path.with_suffix(".svg")
    return Path(os.path.relpath(figure, beside)).as_posix() if figure.exists() else None


def _provenance(kept: Kept) -> str:
    chip = f"{kept.machine['gpu']}; " if kept.machine["gpu"] else ""
    cores = f"{kept.machine['cores']} core" + "s" * (kept.machine["cores"] != 1)
    versions = ", ".join(f"{name} {number}" for name, number in kept.versions.items())
    seeds = f"seed{'s' * (len(kept.seeds) != 1)} {', '.join(map(str, kept.seeds))}"
    where = f"{chip}{kept.machine['processor']}, {cores}, {kept.machine['busy']} of them busy for others"
    told = f"{where}; {versions}; {seeds}; commit {kept.commit}, {kept.date}."
    script = kept.benchmark.split("-")[0]  # a run at another scale has it in its name
    return f"`benchmarks/{script}.py`: {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--to", type=Path, default=PAGE)
    chosen = parser.parse_args()
    chosen.to.write_text(page(chosen.results, chosen.to.parent), "utf-8")


if __name__ == "__main__":
    main()
