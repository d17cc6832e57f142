from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
    from shortlist.experiments.folders import find_campaigns
    from shortlist.experiments.results import write_results

    files = [path for path in sources if path.is_file()]
    folders = [path for path in sources if not path.is_file()]
    rows = write_results([*find_campaigns(folders), *files], out)
    print(f"{rows} rows in all: {out}")
