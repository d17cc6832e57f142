from __future__ import annotations

from pathlib import Path

from tests.cli.command import Command
from tests.cli.conftest import Ran


def test_a_page_a_table_the_money_line_and_figures(shortlist: Command, ran: Ran) -> None:
    ran()
    got = shortlist("report", "runs", "-o", "page.html", "--figures", "figures")
    assert got.code == 0, got.err
    assert "cheaper than asking conventionally" in got.out
    assert "cheaper than asking conventionally" in Path("page.html").read_text().replace("</strong>", "")
    drawn = sorted(path.name for path in Path("figures").iterdir())
    assert drawn == [
        "accuracy-against-cost.svg",
        "alpha-by-round.svg",
        "cost-by-round.svg",
        "coverage-by-round.svg",
        "set-size-by-round.svg",
    ]
    assert all(path.read_text().startswith("<svg") for path in Path("figures").iterdir())


def test_folders_without_a_campaign_are_named(shortlist: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert shortlist("report", "nowhere").err == "error: nowhere: there is no such folder\n"
    assert shortlist("report", "empty").err.startswith("error: empty: no campaign here or below")
    assert not list(Path().rglob("*.html"))


def test_a_page_that_cannot_be_written(shortlist: Command, ran: Ran, recipe: Path) -> None:
    ran()
    got = shortlist("report", "runs", "-o", recipe / "page.html")
    assert got.code == 1
    assert got.err.startswith(f"error: {recipe}/page.html: cannot be written (")


def test_the_page_goes_where_the_campaigns_are(shortlist: Command, ran: Ran) -> None:
    ran("here")
    assert "report: here/report.html" in shortlist("report", "here").out
    assert Path("here/report.html").is_file()
