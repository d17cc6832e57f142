from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def compare(
    files: Annotated[list[Path], typer.Argument(help="Files of results, or folders that hold some.")],
    into: Annotated[
        Path | None, typer.Option(help="A page with marks for the results. (Default: they are printed here.)")
    ] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write the figures as SVG into this folder.")] = None,
) -> None:
    """Put results beside the paper's: tables as Markdown, and figures.

    With --into, what stands between <!-- results: begin --> and <!-- results: end --> is replaced.

    Example: shortlist compare results --into README.md --figures docs/images
    """
    from shortlist.experiments.compare import MAIN, block, left_out, write_block
    from shortlist.experiments.panels import draw
    from shortlist.experiments.results import read_results

    rows = read_results(files)
    drawn = [] if figures is None else draw([row for row in rows if row["recipe"] == MAIN], figures, MAIN)
    home = into.parent if into else Path()
    made = block(rows, [Path(os.path.relpath(path, home)).as_posix() for path in drawn])
    if into is None:
        print(made)
    else:
        print(f"{into}: {'written' if write_block(into, made) else 'nothing has changed'}")
    if others := left_out(rows):
        print(f"not shown, for the paper has none such: {', '.join(others)}")
