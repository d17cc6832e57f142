from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist import Arrays, ShortlistError
from shortlist.experiments.recipes import Builder, jobs, parse_recipe, read_recipe

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
ONE = {"dataset": "digits", "model": "scikit", "query": "top_k", "acquisition": "random", "initial": 5, "budget": 5}


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_every_recipe_opens_with_the_command_that_runs_it_and_can_be_read(path: Path) -> None:
    assert path.read_text().startswith(f"# shortlist run recipes/{path.name}")
    assert jobs(read_recipe(path), Path("out"))


def test_the_text_recipe_is_the_papers() -> None:
    recipe = read_recipe(RECIPES[[p.stem for p in RECIPES].index("text")])
    assert (recipe.initial, recipe.budget, recipe.rounds, recipe.seeds) == (300, 600, 11, [0, 1, 2])
    assert recipe.initial + 10 * recipe.budget == 6300
    assert recipe.pairs() == [("CQ", "Rand"), ("CSQ", "Rand"), ("CQ", "Ent"), ("CSQ", "Ent"), ("CSQ", "Cost(Ent)")]
    assert recipe.model == {"name": "kernel_svm", "C": 10, "gamma": 1}
    assert recipe.acquisitions["Cost(Ent)"] == {"name": "cost_aware", "inner": "entropy", "d": 1.2}


def test_one_campaign_needs_no_grid(tmp_path: Path) -> None:
    (job,) = jobs(parse_recipe(ONE, "here"), tmp_path)
    assert job.folder == tmp_path / "seed-0"


def test_without_runs_all_meet_all() -> None:
    many = {k: v for k, v in ONE.items() if k not in ("query", "acquisition")}
    many |= {"queries": {"A": "top_k", "B": "conventional"}, "acquisitions": {"R": "random", "E": "entropy"}}
    assert len(parse_recipe(many, "here").pairs()) == 4


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    many = {k: v for k, v in ONE.items() if k != "query"} | {"queries": {"A(1)": "top_k", "A-1": "conventional"}}
    with pytest.raises(ShortlistError, match="would share the folder"):
        jobs(parse_recipe(many, "here"), tmp_path)


def test_noise_comes_from_the_seed_and_a_crowd_from_a_file(tmp_path: Path) -> None:
    dataset = Arrays(np.zeros((1000, 2)), np.arange(1000) % 10)
    noisy = parse_recipe({**ONE, "annotator": {"noise": 0.2}}, "here")
    first, again, other = (Builder().answers(noisy, dataset, seed) for seed in (0, 0, 1))
    assert 0.15 < np.mean(first != dataset.labels) < 0.25
    assert (first == again).all()
    assert (first != other).any()
    np.savez(tmp_path / "crowd.npz", worker=np.full(1000, 3))
    crowd = parse_recipe({**ONE, "annotator": {"labels": "crowd.npz:worker"}}, "here")
    assert set(Builder(tmp_path).answers(crowd, dataset, 0)) == {3}
    missing = parse_recipe({**ONE, "annotator": {"labels": "crowd.npz:nobody"}}, "here")
    with pytest.raises(ShortlistError, match=r"annotator\.labels: .*crowd\.npz cannot be read"):
        Builder(tmp_path).answers(missing, dataset, 0)
    short = Arrays(np.zeros((10, 2)), np.arange(10))
    with pytest.raises(ShortlistError, match=r"annotator\.labels: 1000 labels for 10 items"):
        Builder(tmp_path).answers(crowd, short, 0)


def test_items_that_nobody_could_answer_about_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "text,label\n" + "".join(f"word{i},{'ab'[i % 2] if i % 3 else ''}\n" for i in range(30))
    )
    recipe = parse_recipe(
        {**ONE, "dataset": {"name": "table", "path": str(tmp_path / "t.csv"), "text": "text", "label": "label"}}, "x"
    )
    assert len(Builder().dataset(recipe).keys) == 20
