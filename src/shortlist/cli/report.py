from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from shortlist.system.extras import require
from shortlist.system.terminal import plain_console, say

NEEDED = ("polars", "altair", "vl_convert")  # by a page and by figures, not by a campaign


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
    from shortlist.campaign.storage.folder import find_campaigns

    require(*NEEDED, extra="report")
    from shortlist.experiments.figures import save_all
    from shortlist.experiments.method_names import by_subject, grouped
    from shortlist.measures import read

    campaigns = find_campaigns(folders)
    tell(campaigns, out or folders[0] / "report.html")
    if figures is None:
        return
    subjects = by_subject([read(campaign) for campaign in campaigns])
    for name, records in subjects.items():  # those of several datasets in a folder each
        for path in save_all(grouped(records), figures if len(subjects) == 1 else figures / name.replace("/", "-")):
            say(f"figure: {path}")


def tell(campaigns: Sequence[Path], out: Path) -> None:
    """The page, and the table on the terminal."""
    from shortlist.experiments.report import write_report
    from shortlist.experiments.tables import money_line, terminal_table
    from shortlist.measures import read

    with plain_console(stderr=True).status("writing the report"):
        write_report(campaigns, out)
    console, records = plain_console(), [read(folder) for folder in campaigns]
    console.print(terminal_table(records))
    console.print(money_line(records), style="bold", highlight=False)
    console.print(f"report: {out}", highlight=False, soft_wrap=True)
