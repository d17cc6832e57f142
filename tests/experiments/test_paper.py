from __future__ import annotations

import json
from pathlib import Path

import pytest

from shortlist import ShortlistError
from shortlist.experiments.paper import (
    ACCURACY_PER_COST,
    BEGIN,
    CLAIMS,
    END,
    FIGURES,
    MAIN,
    RECIPES,
    ROUNDS,
    Claim,
    block,
    claims_table,
    equal_cost_table,
    last_table,
    left_out,
    seal,
    worth_table,
    write_block,
)
from shortlist.experiments.result_files import read_results
from shortlist.recipes.recipe import jobs, read_recipe
from tests.experiments.rows import row

ROOT = Path(__file__).parents[2]

PHRASES = {  # the paper's number, in the words it stands in
    "CIFAR-10": "same labels | CIFAR-10 {}%,",
    "CIFAR-100": " CIFAR-100 {}%,",
    "ImageNet64x64": " ImageNet64x64 {}% |",
    "R52, TF-IDF, round 10": "| R52, TF-IDF, CSQ+Rand at round 10 | {} %p cheaper",
    "R52, TF-IDF, round 10 counted from 0": "| R52, TF-IDF, CSQ+Rand at round 10 | {} %p cheaper",
    "CIFAR-100, label noise 0.05, round 9": "round 9 | CSQ+Cost(Ent) {} / ",
    "CIFAR-100, label noise 0.1, round 9": "round 9 | CSQ+Cost(Ent) 33.4 / {} %p cheaper",
    "CIFAR-100-LT, ratio 6, round 4": "| CIFAR-100-LT, round 4, ratio 6 / 10 | {} / ",
    "CIFAR-100-LT, ratio 10, round 4": "| CIFAR-100-LT, round 4, ratio 6 / 10 | 31.1 / {} %p cheaper",
    "Products-10K, EfficientNet-B3": "| Products-10K, EfficientNet-B3 | {} %p cheaper",
}


def cells(table: str, name: str) -> list[str]:
    """The line of a table that begins with a name."""
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_papers_numbers_are_the_papers() -> None:
    """Table and claims against the specification, where it is at hand."""
    page = ROOT.parent / "shared" / "PAPER.md"
    if not page.exists():
        pytest.skip("the specification of the paper is not beside the checkout")
    text = page.read_text("utf-8")
    for name, values in ACCURACY_PER_COST.items():
        assert f"| {name} | {' | '.join(f'{value:.2f}' for value in values)} |" in text
    assert PHRASES.keys() == {claim.where for claim in CLAIMS}
    for claim in CLAIMS:
        phrase = PHRASES[claim.where].format(f"{claim.paper:g}")
        assert phrase in text, phrase
    assert all(len(values) == len(ROUNDS) for values in ACCURACY_PER_COST.values())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.where)
def test_every_claim_is_about_campaigns_of_a_recipe(claim: Claim) -> None:
    listed = jobs(read_recipe(ROOT / "recipes" / f"{claim.recipe}.toml"), Path("out"))
    named = {job.acquisition: job.recipe for job in listed if (job.variant, job.query) == (claim.variant, "CSQ")}
    for acquisition in claim.acquisitions:
        assert acquisition in named
        assert claim.round is None or claim.round <= (named[acquisition].rounds or 0)


def test_what_was_not_run_says_so_beside_the_papers() -> None:
    assert cells(worth_table([]), "CSQ+Ent")[:3] == ["CSQ+Ent", "not run", ""]
    assert cells(claims_table([]), "CIFAR-100") == ["CIFAR-100", "54%", "not run"]
    assert "ImageNet64x64" not in last_table([])


def test_of_what_nothing_is_known_no_table_is_made() -> None:
    alone = block([row("Rand", r, recipe="text") for r in (1, 10)])
    assert "CIFAR-10 (`cifar10`), CIFAR-100 (`cifar100`), ImageNet64x64" in alone
    assert "Accuracy per cost on CIFAR-100" not in alone
    assert cells(alone, "R52, TF-IDF, round 10")[2].startswith("CSQ+Rand 50.0 points")
    assert "|" not in block([])
    assert "Where this ran" not in block([])


def test_ours_is_a_mean_over_seeds_above_the_papers_and_bold_where_it_is_as_large() -> None:
    rows = [row("Ent", 2, seed, accuracy_per_cost=value) for seed, value in enumerate((2.35, 2.37))]
    rows += [row("Ent", 3, seed, accuracy_per_cost=value) for seed, value in enumerate((1.70, 1.76))]
    table = worth_table(rows)
    assert cells(table, "CSQ+Ent")[:5] == ["CSQ+Ent", "2", "**2.36 ± 0.01**", "1.73 ± 0.04", ""]
    lines = table.splitlines()
    below = lines[next(i for i, line in enumerate(lines) if line.startswith("| CSQ+Ent |")) + 1]
    assert below.startswith("| the paper | 3 | 2.36 | 1.74 |")


def test_cheaper_is_told_as_the_paper_tells_it() -> None:
    rows = [row(a, r, s) for a in ("Rand", "Cost(Ent)") for r in (1, 9) for s in (0, 1)]
    assert cells(claims_table(rows), "CIFAR-100")[2] == (
        "CSQ+Rand 50.0 ± 0.0% (n = 2); CSQ+Cost(Ent) 50.0 ± 0.0% (n = 2)"
    )
    noisy = [row("Cost(Ent)", r, recipe="noise", variant="noise=0.05", relative_cost=70.0) for r in (8, 9)]
    noisy += [row("Cost(Ent)", 9, recipe="noise", variant="noise=0.1", relative_cost=80.0)]
    table = claims_table(noisy)
    assert cells(table, "CIFAR-100, label noise 0.05, round 9")[1:] == [
        "33.4 points",
        "CSQ+Cost(Ent) 30.0 points (n = 1)",
    ]
    assert cells(table, "CIFAR-100, label noise 0.1, round 9")[2] == "CSQ+Cost(Ent) 20.0 points (n = 1)"


def test_methods_stand_side_by_side_at_the_same_cost() -> None:
    """5% for 35% of accuracy, then 6 points of cost for 5 of accuracy; conventionally 10% and 12 points."""
    rows = [row(a, r, seed) for a in ("Rand", "Ent") for r in (1, 2, 3, 4) for seed in (0, 2)]
    rows += [row("Ent", r, query="OneBit", recipe="weak", relative_cost=10.0 * r) for r in (1, 2, 3)]
    table = equal_cost_table(rows)
    at_15 = 40 + 5 * (15 - 11) / 6  # between rounds 2 and 3
    assert cells(table, "CSQ+Rand")[1:4] == ["2", f"{at_15 + 1:.1f} ± 1.4", f"{45 + 5 * (20 - 17) / 6 + 1:.1f} ± 1.4"]
    assert cells(table, "CSQ+Rand")[4:] == [""] * 5  # they paid 23 in all
    assert cells(table, "CQ+Rand")[2] == f"{35 + 5 * 5 / 12 + 1:.1f} ± 1.4"
    assert cells(table, "OneBit+Ent")[1:6] == ["1", "37.5", "40.0", "42.5", "45.0"]
    assert "CSQ+BADGE" not in table


def test_a_mean_at_a_cost_is_of_all_seeds_or_of_none() -> None:
    rows = [row("Ent", r, seed=0) for r in (1, 2, 3, 4)] + [row("Ent", r, seed=1) for r in (1, 2)]
    assert cells(equal_cost_table(rows), "CSQ+Ent")[1:4] == ["2", "", ""]


def test_seeds_end_at_the_last_round_they_share() -> None:
    rows = [row("Ent", r, 0) for r in (1, 2, 3)] + [row("Ent", r, 1) for r in (1, 2)]
    line = cells(last_table(rows), "CIFAR-100")
    assert line[1:5] == ["CSQ+Ent", "2", "11,000", "40.5 ± 0.7"]
    assert line[5:] == ["11.0 ± 0.0", "22.0 ± 0.0", "50.0 ± 0.0"]


def test_the_floor_stands_in_the_last_table_where_it_is_known_of_every_seed() -> None:
    known = [row("Ent", 9, seed, floor=row("Ent", 9)["cost"] / (1.3 + 0.2 * seed)) for seed in (0, 1)]
    part = [row("Rand", 9, 0, floor=20.0), row("Rand", 9, 1)]
    table = last_table([*known, *part])
    assert table.splitlines()[0].endswith("| × the floor |")
    ends = [line.split(" | ")[-1] for line in table.splitlines() if "CSQ+" in line]
    assert ends == [" |", "1.4 ± 0.1 |"]
    assert "A better model has a lower one." in block([*known, *part])
    none = [row("Ent", 9)]
    assert "floor" not in last_table(none)
    assert "floor" not in block(none)


def test_variants_and_methods_have_a_line_each_in_the_papers_order() -> None:
    rows = [row(a, recipe="noise", variant=v) for v in ("human", "noise=0.1") for a in ("Cost(Ent)", "Ent", "Rand")]
    rows += [row("Ent", recipe="noise", variant="human", query="OneBit")]
    lines = [line.split(" | ")[:2] for line in last_table(rows).splitlines() if "+" in line]
    assert lines == [
        ["| CIFAR-100, wrong answers, human", "CSQ+Rand"],
        ["| ", "CSQ+Ent"],
        ["| ", "CSQ+Cost(Ent)"],
        ["| ", "OneBit+Ent"],
        ["| CIFAR-100, wrong answers, noise=0.1", "CSQ+Rand"],
        ["| ", "CSQ+Ent"],
        ["| ", "CSQ+Cost(Ent)"],
    ]


def test_a_smoke_run_never_stands_beside_the_paper() -> None:
    assert block([row(recipe="cifar100-smoke")]) == block([])


def test_where_it_ran() -> None:
    rows = [row(), row(seed=1, hardware="a CPU", date="2026-01-05T00:00:00+00:00", commit="def")]
    told = "`cifar100` on a CPU and some GPU, torch 2.13.0, commit abc1234567 and def, 2026-01-02 to 2026-01-05."
    assert block(rows).endswith(f"Where this ran: {told}")
    unknown = row(commit=None, hardware=None, torch=None, date=None)
    assert block([unknown]).endswith("`cifar100` somewhere, which was not written down.")


def test_with_which_training_it_ran() -> None:
    fast = json.dumps({"model": {"name": "network", "training": "fast"}})
    assert "Where this ran: `cifar100` trained by `fast`, on some GPU" in block(
        [row(settings=fast), row(settings="{}")]
    )
    other = json.dumps({"model": {"training": {"base": "paper", "negative": 0.1, "epochs": 3}}})
    assert "trained by `fast` and `paper` with epochs = 3, negative = 0.1," in block(
        [row(settings=fast), row(seed=1, settings=other)]
    )
    assert "trained by" not in block([row()])


def test_a_round_that_some_seeds_have_not_reached_says_how_many_have() -> None:
    rows = [row("Ent", 2, s, accuracy_per_cost=1.0) for s in (0, 1)] + [row("Ent", 3, 0, accuracy_per_cost=2.0)]
    assert cells(worth_table(rows), "CSQ+Ent")[1:4] == ["2", "1.00 ± 0.00", "**2.00** (n = 1)"]


def test_every_recipe_is_shown_and_what_is_not_is_named() -> None:
    assert {path.stem for path in (ROOT / "recipes").glob("*.toml")} == RECIPES.keys()
    others = ("cifar100-smoke", "cifar100-model.training=paper", "cifar100-smoke")
    rows = [row(), *(row(recipe=name) for name in others)]
    assert left_out(rows) == ["cifar100-smoke"]
    assert left_out([row(), row(recipe="noise-model.training=paper")]) == ["noise-model.training=paper"]
    assert left_out([row()]) == []


def test_other_settings_of_the_main_recipe_stand_above_the_papers_line() -> None:
    paper = row("Ent", 2, recipe="cifar100-model.training=paper", accuracy_per_cost=2.0)
    rows = [row("Ent", 2, accuracy_per_cost=3.0), paper]
    lines = worth_table(rows).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("| CSQ+Ent |"))
    assert lines[at].startswith("| CSQ+Ent | 1 | **3.00** |")
    assert lines[at + 1].startswith("| CSQ+Ent, `model.training=paper` | 1 | 2.00 |")
    assert lines[at + 2].startswith("| the paper | 3 |")
    assert sum("model.training" in line for line in lines) == 1
    assert "; `cifar100-model.training=paper` on some GPU" in block(rows)


def test_a_block_goes_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    assert write_block(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert not write_block(page, "new")
    for text in ("no marks", f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"):
        page.write_text(text)
        with pytest.raises(ShortlistError, match="needs the lines <!-- results: begin --> and <!-- results: end -->"):
            write_block(page, "new")
        assert page.read_text() == text
    with pytest.raises(ShortlistError, match=r"nowhere\.md: cannot be read"):
        write_block(tmp_path / "nowhere.md", "new")


def test_readme_says_what_the_files_of_results_say() -> None:
    """After new results: shortlist compare results --into README.md --figures docs/images"""
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    rows = read_results([ROOT / "results"])
    charts = {title: make([r for r in rows if r["recipe"] == MAIN]) for title, make in FIGURES.items()}
    pictures = {f"docs/images/{MAIN}-{title}.svg": chart for title, chart in charts.items() if chart is not None}
    assert text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip() == block(rows, list(pictures))
    for path, chart in pictures.items():
        assert seal(chart) in (ROOT / path).read_text("utf-8"), f"{path} was drawn from other numbers"
