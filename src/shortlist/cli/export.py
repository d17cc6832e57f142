from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    target: Annotated[Path, typer.Argument(help="File to write: .csv, .jsonl or .parquet.")],
) -> None:
    """Write a campaign's labels to a file, with how each came about. Safe while people are labelling.

    Example: shortlist export runs/demo/digits/CSQ+Rand/seed-0 labels.parquet
    """
    from shortlist.campaign.formats.export import export as write

    print(f"{write(folder, target)} labels: {target}")
