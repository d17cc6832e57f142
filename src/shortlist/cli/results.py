from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from shortlist.cli.report import NEEDED
from shortlist.system.extras import require
from shortlist.system.terminal import say


def results(
    sources: Annotated[
        list[Path], typer.Argument(help="Campaigns, folders that hold some, or .parquet files from another machine.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .parquet file to write, or to add to.")],
) -> None:
    """Keep what campaigns came to in one small file: a row per campaign and round, with commit and hardware.

    Rows of the same campaigns are replaced, all others stay, so results of several sessions add up.

    Example: shortlist results runs/cifar100 -o results/cifar100.parquet
    """
    require("pyarrow", extra="report")
    from shortlist.campaign.storage.folder import find_campaigns
    from shortlist.experiments.result_files import write_results

    files = [path for path in sources if path.is_file()]
    folders = [path for path in sources if not path.is_file()]
    rows = write_results([*find_campaigns(folders), *files], out)
    say(f"{rows} rows in all: {out}")


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
    require("pyarrow", *NEEDED, extra="report")
    from shortlist.experiments.paper import MAIN, block, draw, left_out, write_block
    from shortlist.experiments.result_files import read_results

    rows = read_results(files)
    drawn = [] if figures is None else draw([row for row in rows if row["recipe"] == MAIN], figures, MAIN)
    home = into.parent if into else Path()
    made = block(rows, [Path(os.path.relpath(path, home)).as_posix() for path in drawn])
    if into is None:
        say(made)
    else:
        say(f"{into}: {'written' if write_block(into, made) else 'nothing has changed'}")
    if others := left_out(rows):
        say(f"not shown, for the paper has none such: {', '.join(others)}")
