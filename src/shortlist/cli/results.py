from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def results(
    folders: Annotated[list[Path], typer.Argument(help="Campaigns, or folders that hold some.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The .parquet file to write, or to add to.")],
) -> None:
    """Keep what campaigns came to in one small file: a row per campaign and round, with commit and hardware.

    Rows of the same campaigns are replaced, all others stay, so results of several sessions add up.

    Example: shortlist results runs/cifar100 -o results/cifar100.parquet
    """
    from shortlist.experiments.folders import find_campaigns
    from shortlist.experiments.results import write_results

    campaigns = find_campaigns(folders)
    rows = write_results(campaigns, out)
    print(f"{len(campaigns)} campaign{'' if len(campaigns) == 1 else 's'}, {rows} rows in all: {out}")
