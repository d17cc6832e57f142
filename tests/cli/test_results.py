from __future__ import annotations

from pathlib import Path

from shortlist.experiments.result_files import read_results
from tests.cli.command import Command


def test_results_are_kept_added_to_and_put_beside_the_papers(shortlist: Command, recipe: Path) -> None:
    """From campaigns to a page; the recipe takes the name of the paper's main experiment for it."""
    recipe.write_text(f'name = "cifar100"\n{recipe.read_text()}')
    line = ("run", recipe, "--no-report", "--only")
    assert shortlist(*line, "CSQ+Cost(Ent)", "--seeds", "0").code == 0
    got = shortlist("results", "runs", "-o", "results/cifar100.parquet")
    assert (got.code, got.out) == (0, "3 rows in all: results/cifar100.parquet\n")
    assert shortlist(*line, "CSQ+Cost(Ent)", "--seeds", "1", "--out", "more").code == 0
    assert "6 rows in all" in shortlist("results", "more", "-o", "results/cifar100.parquet").out
    rows = read_results([Path("results")])
    assert {(row["recipe"], row["query"], row["acquisition"], row["seed"]) for row in rows} == {
        ("cifar100", "CSQ", "Cost(Ent)", seed) for seed in (0, 1)
    }
    assert all(row["hardware"] and row["python"] and row["date"] for row in rows)

    printed = shortlist("compare", "results")
    assert printed.code == 0, printed.err
    assert "| CSQ+Cost(Ent) | 2 |" in printed.out
    Path("docs").mkdir()
    page = Path("docs/page.md")
    page.write_text("# Page\n<!-- results: begin -->\n<!-- results: end -->\n")
    got = shortlist("compare", "results", "--into", page, "--figures", "docs/images")
    assert (got.code, got.out) == (0, "docs/page.md: written\n")
    assert "](images/cifar100-accuracy-per-cost.svg)" in page.read_text()
    assert Path("docs/images/cifar100-accuracy-per-cost.svg").read_text().startswith("<svg")
    again = shortlist("compare", "results", "--into", page, "--figures", "docs/images")
    assert again.out == "docs/page.md: nothing has changed\n"
    assert shortlist(*line, "CSQ+Rand", "--seeds", "0", "--set", "rounds=1").code == 0
    assert shortlist("results", "runs/cifar100-rounds=1", "-o", "results/other.parquet").code == 0
    for options in ((), ("--into", page, "--figures", "docs/images")):
        told = shortlist("compare", "results", *options).out.splitlines()[-1]
        assert told == "not shown, for the paper has none such: cifar100-rounds=1"
    assert "rounds=1" not in page.read_text()


def test_nothing_to_keep_and_nowhere_to_put_it(shortlist: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    got = shortlist("results", "empty", "-o", "r.parquet")
    assert got.err.startswith("error: empty: no campaign here or below")
    (tmp_path / "page.md").write_text("no marks")
    got = shortlist("compare", "empty", "--into", "page.md")
    assert got.err.startswith("error: page.md: needs the lines <!-- results: begin -->")
    assert shortlist("compare", "none.parquet").err == "error: none.parquet: there is no such file\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "page.md"]
