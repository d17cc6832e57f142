from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[list[Path], typer.Argument(help="Campaigns, or folders that hold some.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page to write. (Default: report.html in the first folder.)")
    ] = None,
    figures: Annotated[Path | None, typer.Option(help="Also write every figure as SVG into this folder.")] = None,
) -> None:
    """Explain campaigns: a page with figures and tables that needs no network, and a table here.

    Works on finished, running and killed campaigns alike.

    Example: shortlist report runs/demo
    """
    from shortlist.experiments.folders import find_campaigns

    campaigns = find_campaigns(folders)
    tell(campaigns, out or folders[0] / "report.html")
    if figures is not None:
        _draw(campaigns, figures)


def tell(campaigns: Sequence[Path], out: Path) -> None:
    """The page, and the table on the terminal."""
    from rich.console import Console

    from shortlist.experiments.headline import money_line
    from shortlist.experiments.report import write_report
    from shortlist.experiments.tables import terminal_table
    from shortlist.measures import read

    with Console(stderr=True).status("writing the report"):
        write_report(campaigns, out)
    console, records = Console(), [read(folder) for folder in campaigns]
    console.print(terminal_table(records))
    console.print(money_line(records), style="bold", highlight=False)
    console.print(f"report: {out}", highlight=False, soft_wrap=True)


def _draw(campaigns: Sequence[Path], folder: Path) -> None:
    """The figures as files; those of several datasets in a folder each."""
    from shortlist.experiments.figures import save_all
    from shortlist.experiments.labels import by_subject, grouped
    from shortlist.measures import read

    subjects = by_subject([read(campaign) for campaign in campaigns])
    for name, records in subjects.items():
        for path in save_all(grouped(records), folder if len(subjects) == 1 else folder / name.replace("/", "-")):
            print(f"figure: {path}")
