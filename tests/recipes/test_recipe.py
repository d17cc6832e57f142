from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from shortlist import ShortlistError
from shortlist.recipes.recipe import (
    Recipe,
    as_table,
    changed,
    chosen,
    each_variant,
    jobs,
    merged,
    parse_recipe,
    read_recipe,
    setting,
    smoke_recipe,
)

RECIPES = {path.stem: path for path in sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))}
ONE = {"dataset": "digits", "model": "scikit", "query": "top_k", "acquisition": "random", "initial": 5, "budget": 5}
MANY: dict[str, Any] = {k: v for k, v in ONE.items() if k not in ("query", "acquisition")} | {
    "queries": {"A": "top_k", "B": "conventional"},
    "acquisitions": {"R": "random", "E": "entropy"},
}


def recipe(name: str) -> Recipe:
    return read_recipe(RECIPES[name])


# --- the files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECIPES.values(), ids=lambda p: p.stem)
def test_every_recipe_opens_with_the_command_that_runs_it_and_can_be_read(path: Path) -> None:
    assert path.read_text().startswith(f"# shortlist run recipes/{path.name}")
    assert jobs(read_recipe(path), Path("out"))
    assert read_recipe(path).name == path.stem


def test_the_text_recipe_is_the_papers() -> None:
    text = recipe("text")
    assert (text.initial, text.budget, text.rounds, text.seeds) == (300, 600, 11, [0, 1, 2])
    assert text.pairs() == [("CQ", "Rand"), ("CSQ", "Rand"), ("CQ", "Ent"), ("CSQ", "Ent"), ("CSQ", "Cost(Ent)")]
    assert text.model == {"name": "kernel_svm", "C": 10, "gamma": 1}
    assert text.acquisitions["Cost(Ent)"] == {"name": "cost_aware", "inner": "entropy", "d": 1.2}


@pytest.mark.parametrize(
    ("name", "initial", "budget", "rounds", "n_cal"),
    [
        ("cifar10", 1000, 6000, 10, 500),
        ("cifar100", 5000, 6000, 9, 500),
        ("imagenet64", 60_000, 60_000, 16, 5000),
        ("products10k", 30_000, 22_000, 6, 5000),
        ("noise", 5000, 6000, 9, 500),
    ],
)
def test_the_image_recipes_have_the_papers_budgets(
    name: str, initial: int, budget: int, rounds: int, n_cal: int
) -> None:
    for one in each_variant(recipe(name)).values():
        assert (one.initial, one.budget, one.rounds, one.seeds) == (initial, budget, rounds, [0, 1, 2])
        assert one.queries["CSQ"] == {"name": "candidate_set", "n_cal": n_cal}
        costs = [table for table in one.acquisitions.values() if isinstance(table, dict)]
        assert {(table["name"], table["d"]) for table in costs} == {("cost_aware", 0.3)}


def test_cifar100_meets_every_acquisition_of_the_papers_table() -> None:
    rows = ["Rand", "Ent", "Cost(Ent)", "BADGE", "Cost(BADGE)", "ProbCover", "Cost(ProbCover)", "SAAL", "Cost(SAAL)"]
    assert recipe("cifar100").pairs() == [("CSQ", row) for row in rows]


def test_the_long_tails_end_where_their_items_do() -> None:
    ratios = each_variant(recipe("imbalance"))
    assert {name: one.rounds for name, one in ratios.items()} == {"ratio=3": 6, "ratio=6": 4, "ratio=10": 4}
    items = {"ratio=3": 30_324, "ratio=6": 23_266, "ratio=10": 19_573}
    for name, one in ratios.items():
        rounds, initial, budget = one.rounds or 0, one.initial or 0, one.budget or 0
        before_last = initial + (rounds - 2) * budget
        assert items[name] - before_last > 500, "the last round has more than its calibration items"
        assert items[name] - before_last - budget < 500, "and no other would have"
        assert one.dataset == {"name": "cifar100", "imbalance": int(name.removeprefix("ratio="))}


def test_one_bit_goes_on_to_where_candidate_sets_end() -> None:
    weak = recipe("weak")
    assert weak.pairs() == [("OneBit", "Ent")]
    assert (weak.initial, weak.budget, weak.rounds, weak.seeds) == (5000, 6000, 24, [0, 1, 2])
    all_bits = 50_000 * math.log2(100)
    assert (5000 * math.log2(100) + 23 * 6000) / all_bits == pytest.approx(0.515, abs=0.001)


def test_saal_ascends_alike_in_all_recipes() -> None:
    with_saal = {name: one for name in RECIPES for one in [recipe(name)] if "SAAL" in one.acquisitions}
    assert list(with_saal) == ["cifar10", "cifar100", "imagenet64"]
    assert {name: as_table(one.model).get("ascent") for name, one in with_saal.items()} == dict.fromkeys(
        with_saal, "batch"
    )


@pytest.mark.parametrize(
    "name", sorted(RECIPES.keys() - {"text", "overlap", "first_question"})
)  # which train no network
def test_an_image_recipe_says_how_long_it_takes_and_in_which_numbers(name: str) -> None:
    head = " ".join(RECIPES[name].read_text().partition("\nname = ")[0].replace("\n# ", " ").split())
    assert "On a GPU training runs in bfloat16." in head
    assert re.search(r"On one H200 \((measured|estimated, not measured)\): |How long it takes was not measured\.", head)


def test_noise_is_the_papers_and_peoples() -> None:
    levels = {name: one.annotator for name, one in each_variant(recipe("noise")).items()}
    assert {name: table.noise for name, table in levels.items()} == {"noise=0.05": 0.05, "noise=0.1": 0.1, "human": 0}
    assert levels["human"].labels == "cifar100n/human_labels.npz:noisy"


# --- grids -----------------------------------------------------------------------------------------------------


def test_one_campaign_needs_no_grid(tmp_path: Path) -> None:
    (job,) = jobs(parse_recipe(ONE, "here"), tmp_path)
    assert job.folder == tmp_path / "seed-0"


def test_without_runs_all_meet_all() -> None:
    assert len(parse_recipe(MANY, "here").pairs()) == 4


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    many = {k: v for k, v in ONE.items() if k != "query"} | {"queries": {"A(1)": "top_k", "A-1": "conventional"}}
    with pytest.raises(ShortlistError, match="would share the folder"):
        jobs(parse_recipe(many, "here"), tmp_path)


# --- tables over tables ----------------------------------------------------------------------------------------


def test_tables_merge_values_replace_and_false_takes_a_table_away() -> None:
    below = {"rounds": 3, "seeds": [0, 1], "model": {"name": "x", "training": "fast"}, "variants": {"a": {}, "b": {}}}
    above = {"seeds": [2], "model": {"training": {"epochs": 1}}, "variants": {"b": False}}
    assert merged(below, above) == {
        "rounds": 3,
        "seeds": [2],
        "model": {"name": "x", "training": {"base": "fast", "epochs": 1}},
        "variants": {"a": {}},
    }
    assert below["seeds"] == [0, 1]


def test_another_part_brings_none_of_the_settings_of_the_one_it_replaces() -> None:
    assert merged({"model": {"name": "x", "k": 1}}, {"model": {"name": "y"}}) == {"model": {"name": "y"}}
    assert merged({"flag": {"is": True}}, {"flag": {"is": False}}) == {"flag": {"is": False}}


@pytest.mark.parametrize(
    ("text", "field", "made"),
    [
        (
            "model.training.epochs=2",
            "model",
            {"name": "network", "architecture": "wrn-36-5", "training": {"base": "imagenet64", "epochs": 2}},
        ),
        ("dataset.items=1000", "dataset", {"name": "imagenet64", "items": 1000}),
        ("dataset.name=cifar100", "dataset", {"name": "cifar100"}),
    ],
)
def test_a_table_over_a_word_keeps_the_word(text: str, field: str, made: dict[str, Any]) -> None:
    got = getattr(changed(recipe("imagenet64"), setting(text), "here"), field)
    assert {key: value for key, value in got.items() if key != "ascent"} == made


def test_a_setting_over_a_word_reaches_every_variant_queries_and_acquisitions() -> None:
    for one in each_variant(changed(recipe("noise"), setting("dataset.items=1000"), "here")).values():
        assert one.dataset == {"name": "cifar100", "items": 1000}
    small = changed(parse_recipe(MANY, "here"), setting("queries.A.k=3"), "here")
    assert small.queries == {"A": {"name": "top_k", "k": 3}, "B": "conventional"}
    cost = changed(recipe("cifar100"), setting("acquisitions.Cost(Ent).d=1.2"), "here").acquisitions["Cost(Ent)"]
    assert cost == {"name": "cost_aware", "inner": "entropy", "d": 1.2}


def test_variants_are_grids_of_their_own(tmp_path: Path) -> None:
    table = {**MANY, "rounds": 3, "variants": {"few": {"rounds": 2}, "ε=0.1": {"annotator": {"noise": 0.1}}}}
    listed = jobs(parse_recipe(table, "here"), tmp_path)
    assert len(listed) == 8
    assert [job.recipe.rounds for job in listed] == [2] * 4 + [3] * 4
    assert listed[0].folder == tmp_path / "few" / "A+R" / "seed-0"
    assert listed[0].label == "few: A+R, seed 0"
    assert listed[-1].folder == tmp_path / "ε=0.1" / "B+E" / "seed-0"
    assert listed[-1].recipe.annotator.noise == 0.1


def test_a_variant_with_an_unknown_field_is_named() -> None:
    with pytest.raises(ShortlistError, match=r"here: variants\.few: ruonds: no such field"):
        parse_recipe({**ONE, "variants": {"few": {"ruonds": 2}}}, "here")


def test_smoke_lies_over_the_file_and_under_its_variants() -> None:
    variants = {"a": {"rounds": 5}, "b": {}}
    table = {**MANY, "rounds": 9, "variants": variants, "smoke": {"rounds": 2, "initial": 3, "variants": {"b": False}}}
    small = smoke_recipe(parse_recipe({"name": "big", **table}, "here"), "here")
    assert small.name == "big-smoke"
    assert not small.smoke
    assert {name: (one.rounds, one.initial) for name, one in each_variant(small).items()} == {"a": (5, 3)}


def test_a_recipe_that_cannot_be_made_small_says_so() -> None:
    with pytest.raises(ShortlistError, match=r"here: smoke: there is no \[smoke\] table"):
        smoke_recipe(parse_recipe(ONE, "here"), "here")
    with pytest.raises(ShortlistError, match=r"here: smoke: ruonds: no such field"):
        smoke_recipe(parse_recipe({**ONE, "smoke": {"ruonds": 2}}, "here"), "here")


def test_what_the_command_line_says_comes_last() -> None:
    table = parse_recipe({**ONE, "seed": 4, "variants": {"a": {"seeds": [1, 2], "seed": None}, "b": {}}}, "here")
    for one in each_variant(changed(table, {"seeds": [7], "seed": None}, "--seeds")).values():
        assert one.seeds == [7]


@pytest.mark.parametrize("text", ["model.training", "=paper", "model.training="])
def test_a_setting_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ShortlistError, match=r"--set: .* does not look like model\.training=paper"):
        setting(text)


def test_a_variant_is_named_in_quotes_where_its_name_needs_them() -> None:
    few = each_variant(changed(recipe("noise"), setting('variants."noise=0.05".rounds = 3'), "here"))
    assert {name: one.rounds for name, one in few.items()} == {"noise=0.05": 3, "noise=0.1": 9, "human": 9}
    for text in ("variants.noise=0.05.rounds=3", "variants.noise=0.05", 'variants."noise=0.05.rounds=3'):
        with pytest.raises(ShortlistError, match=r"--set: .*; a name with \. or = in it goes in quotes"):
            setting(text)
    assert setting("variants.human=false") == {"variants": {"human": False}}


@pytest.mark.parametrize(
    ("only", "labels"),
    [
        ([], ["a: A+R", "a: A+E", "b: A+R", "b: A+E"]),
        (["A+E"], ["a: A+E", "b: A+E"]),
        (["b"], ["b: A+R", "b: A+E"]),
        (["b", "A+R"], ["b: A+R"]),
        (["a", "b", "A+R"], ["a: A+R", "b: A+R"]),
    ],
)
def test_only_some(only: list[str], labels: list[str], tmp_path: Path) -> None:
    table = {**MANY, "queries": {"A": "top_k"}, "variants": {"a": {}, "b": {}}}
    kept = chosen(jobs(parse_recipe(table, "here"), tmp_path), only)
    assert sorted(job.label for job in kept) == sorted(f"{label}, seed 0" for label in labels)


def test_only_what_there_is(tmp_path: Path) -> None:
    listed = jobs(parse_recipe({**MANY, "variants": {"a": {}}}, "here"), tmp_path)
    with pytest.raises(ShortlistError, match=r"--only: 'C\+R' is none of A\+R, a, B\+R, A\+E, B\+E"):
        chosen(listed, ["C+R"])
    runs = [{"queries": ["A"], "acquisitions": ["R"]}]
    uneven = {**MANY, "variants": {"a": {"runs": runs}, "b": {}}}
    with pytest.raises(ShortlistError, match=r"--only: no campaign is all of a, B\+E"):
        chosen(jobs(parse_recipe(uneven, "here"), tmp_path), ["a", "B+E"])


# --- what is no recipe -----------------------------------------------------------------------------------------

HEAD = 'dataset = "digits"\nmodel = "scikit"\nquery = "top_k"\nacquisition = "random"\ninitial = 5\nbudget = 5\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 100_000, "cannot be read as TOML: maximum recursion depth"),
        ("stop" + ".a" * 100_000 + " = 1", "cannot be read as TOML: a key has more than 1000 parts"),
        ("stop" + ".a" * 900 + " = 1", "tables and lists are nested more than 30 deep"),
        ("[stop]\nrounds = " + "[" * 40 + "]" * 40, "tables and lists are nested more than 30 deep"),
        ("initial = " + "9" * 5000, "cannot be read as TOML: Exceeds the limit"),
        ("seeds = [-1]", "seeds.0: Input should be greater than or equal to 0"),
    ],
)
def test_a_file_that_goes_too_far_is_refused_in_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(HEAD.replace("initial = 5\n", "") + text if text.startswith("initial") else HEAD + text)
    with pytest.raises(ShortlistError, match=re.escape(message)):
        read_recipe(path)


def test_a_setting_that_goes_too_far_is_refused_too() -> None:
    recipe = parse_recipe(ONE, "here")
    with pytest.raises(ShortlistError, match="nested more than 30 deep"):
        changed(recipe, setting("stop" + ".a" * 2000 + "=1"), "here")
    with pytest.raises(ShortlistError, match=r"here: initial: Input should be a valid integer"):
        changed(recipe, setting("initial=" + "[" * 100_000), "here")
