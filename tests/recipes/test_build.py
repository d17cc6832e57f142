from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import Arrays, Cifar100, CostAware, Entropy, OneBit, ShortlistError, Simclr
from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.config import to_toml
from shortlist.datasets.official.examples import write_example
from shortlist.experiments.method_names import by_subject
from shortlist.measures import read
from shortlist.recipes.build import Builder
from shortlist.recipes.recipe import Job, jobs, parse_recipe, read_recipe

ONE = {"dataset": "digits", "model": "scikit", "query": "top_k", "acquisition": "random", "initial": 5, "budget": 5}
ENCODER = {"name": "simclr", "width": 4, "epochs": 1, "batch": 20}


def test_noise_comes_from_the_seed_and_a_crowd_from_a_file(tmp_path: Path) -> None:
    dataset = Arrays(np.zeros((1000, 2)), np.arange(1000) % 10)
    noisy = parse_recipe({**ONE, "annotator": {"noise": 0.2}}, "here")
    first, again, other = (Builder().annotator(noisy, dataset, seed).labels[0] for seed in (0, 0, 1))
    assert 0.15 < np.mean(first != dataset.labels) < 0.25
    assert (first == again).all()
    assert (first != other).any()
    np.savez(tmp_path / "crowd.npz", worker=np.full(1000, 3))
    crowd = parse_recipe({**ONE, "annotator": {"labels": "crowd.npz:worker"}}, "here")
    assert {*Builder(tmp_path).annotator(crowd, dataset, 0).labels[0]} == {3}
    missing = parse_recipe({**ONE, "annotator": {"labels": "crowd.npz:nobody"}}, "here")
    with pytest.raises(ShortlistError, match=r"annotator\.labels: .*crowd\.npz cannot be read"):
        Builder(tmp_path).annotator(missing, dataset, 0)
    short = Arrays(np.zeros((10, 2)), np.arange(10))
    with pytest.raises(ShortlistError, match=r"annotator\.labels: 1000 labels for 10 items"):
        Builder(tmp_path).annotator(crowd, short, 0)


def test_a_crowd_that_answered_about_all_items_answers_about_a_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_example("cifar100", tmp_path, items=400, test_items=20)
    whole, part = Cifar100(folder), Cifar100(folder, imbalance=4)
    told = (whole.labels + np.arange(400)) % 100
    np.save(tmp_path / "crowd.npy", told)
    monkeypatch.setenv("SHORTLIST_DATA", str(tmp_path))  # the data folder of a command without --data
    crowd = parse_recipe({**ONE, "annotator": {"labels": "crowd.npy"}}, "here")
    assert (Builder().annotator(crowd, whole, 0).labels == told).all()
    assert (Builder().annotator(crowd, part, 0).labels == told[part.positions]).all()
    for size in (len(part.positions) + 1, 399, 401, 1000):  # neither all items nor these
        np.save(tmp_path / "crowd.npy", np.resize(told, size))
        with pytest.raises(
            ShortlistError, match=rf"annotator\.labels: {size} labels for {len(part.positions)} items, of 400 in all"
        ):
            Builder().annotator(crowd, part, 0)


def test_several_people_err_each_in_their_own_way() -> None:
    dataset = Arrays(np.zeros((1000, 2)), np.arange(1000) % 10)
    three = parse_recipe({**ONE, "annotator": {"noise": 0.2, "people": 3}, "overlap": {"answers": 3}}, "here")
    annotator = Builder().annotator(three, dataset, seed=0)
    wrong = annotator.labels != dataset.labels
    assert wrong.shape == (3, 1000)
    assert ((wrong.mean(axis=1) > 0.15) & (wrong.mean(axis=1) < 0.25)).all()
    assert wrong.all(axis=0).mean() < 0.03  # 0.8% where they err apart, 20% where alike
    few = parse_recipe({**ONE, "annotator": {"noise": 0.2, "people": 2}, "overlap": {"answers": 3}}, "here")
    with pytest.raises(ShortlistError, match=r"annotator\.people: 2, and overlap\.answers wants 3 people; write"):
        Builder().annotator(few, dataset, seed=0)


def test_a_crowd_that_is_not_there_says_where_to_get_it(tmp_path: Path) -> None:
    dataset = Arrays(np.zeros((10, 2)), np.arange(10))
    known = parse_recipe({**ONE, "annotator": {"labels": "cifar100n/human_labels.npz:noisy"}}, "here")
    with pytest.raises(ShortlistError) as told:
        Builder(tmp_path).annotator(known, dataset, 0)
    for words in ("there is no cifar100n/human_labels.npz", "CIFAR-100N", "noisylabels.com", "CIFAR-100_human.pt"):
        assert words in str(told.value)
    for words in ("noisy_label", "np.savez(", "CC BY-NC 4.0", "--only noise=0.05"):
        assert words in str(told.value)
    other = parse_recipe({**ONE, "annotator": {"labels": "mine.npy"}}, "here")
    with pytest.raises(ShortlistError, match=r"annotator\.labels: there is no mine\.npy, neither from here nor in the"):
        Builder(tmp_path).annotator(other, dataset, 0)


def test_one_bit_has_one_price_so_cost_aware_entropy_is_entropy() -> None:
    probs = np.random.default_rng(0).dirichlet(np.full(100, 0.1), 500)
    plain, aware = (
        method.select(probs, n=60, rng=np.random.default_rng(1), price=OneBit().price)
        for method in (Entropy(), CostAware(Entropy(), d=0.3))
    )
    assert (plain == aware).all()


def test_items_that_nobody_could_answer_about_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "text,label\n" + "".join(f"word{i},{'ab'[i % 2] if i % 3 else ''}\n" for i in range(30))
    )
    recipe = parse_recipe(
        {**ONE, "dataset": {"name": "table", "path": str(tmp_path / "t.csv"), "text": "text", "label": "label"}}, "x"
    )
    assert len(Builder().dataset(recipe).keys) == 20


def test_campaigns_of_a_recipe_share_their_dataset_and_their_model(tmp_path: Path) -> None:
    many = {key: value for key, value in ONE.items() if key != "query"} | {"queries": {"A": "top_k", "B": "one_bit"}}
    builder = Builder()
    one, other = (builder.campaign(job)[0].settings for job in jobs(parse_recipe(many, "here"), tmp_path))
    assert one.dataset is other.dataset
    assert one.model is other.model
    elsewhere = {**many, "model": {"name": "scikit", "batch": 7}}
    assert builder.campaign(jobs(parse_recipe(elsewhere, "here"), tmp_path / "b")[0])[0].settings.model is not one.model


# --- features --------------------------------------------------------------------------------------------------


@pytest.fixture
def images(tmp_path: Path) -> Path:
    write_example("cifar10", tmp_path, items=60, test_items=20)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The datasets that the encoder was asked about; it answers with one of two directions."""
    seen: list[Any] = []

    def features(self: Simclr, dataset: Any) -> Any:
        seen.append(dataset)
        return np.eye(2, dtype=np.float32)[np.arange(len(dataset)) % 2]

    monkeypatch.setattr(Simclr, "features", features)
    return seen


def with_features(tmp_path: Path, **others: Any) -> list[Job]:
    table = {
        **{key: value for key, value in ONE.items() if key != "acquisition"},
        "dataset": "cifar10",
        "features": ENCODER,
        "rounds": 2,
        "acquisitions": {
            "Rand": "random",
            "ProbCover": {"name": "prob_cover", "delta": 0.5},
            "TypiClust": "typi_clust",
        },
    }
    return jobs(parse_recipe({**table, **others}, "here"), tmp_path / "out")


def finish(builder: Builder, job: Job) -> None:
    builder.check(job)
    campaign, annotator = builder.campaign(job)
    list(campaign.run(annotator))
    campaign.close()


def test_features_are_made_once_for_the_campaigns_that_need_them(images: Path, asked: list[Any]) -> None:
    builder = Builder(images)
    rand, *needy = with_features(images)
    finish(builder, rand)
    assert not asked
    for job in needy:
        finish(builder, job)
    assert len(asked) == 1
    assert asked[0] is builder.dataset(rand.recipe)
    assert builder.dataset(rand.recipe).features is None


def test_a_campaign_with_features_says_so_is_found_again_and_is_itself_a_recipe(images: Path, asked: list[Any]) -> None:
    rand, cover, _ = with_features(images)
    finish(Builder(images), cover)
    record = read(cover.folder)
    assert record.config["dataset"]["features"] == Simclr(width=4, epochs=1, batch=20).spec()
    (again,) = jobs(read_recipe(cover.folder / "campaign.toml"), images / "again")
    finish(Builder(images), again)
    assert [r.cost for r in read(again.folder).rounds] == [r.cost for r in record.rounds]
    others = with_features(images, features={**ENCODER, "epochs": 2})
    with pytest.raises(ShortlistError, match=r"made with dataset\.features\.epochs = 1, not 2"):
        Builder(images).check(others[1])
    finish(Builder(images), rand)
    assert len(by_subject([record, read(rand.folder)])) == 1


def test_an_encoder_that_is_none_is_refused_before_anything_is_written(images: Path) -> None:
    _, cover, _ = with_features(images, features="scikit")
    with pytest.raises(ShortlistError, match=r"features\.name: .* learns labels and makes no features"):
        Builder(images).check(cover)
    _, cover, _ = with_features(images, features={"name": "simclr", "epoks": 1})
    with pytest.raises(ShortlistError, match=r"features\.epoks: no such setting; simclr has architecture"):
        Builder(images).check(cover)
    assert not cover.folder.exists()


def test_features_that_are_made_for_real(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_CACHE", str(images / "cache"))
    _, cover, _ = with_features(images)
    finish(Builder(images), cover)
    assert len(read(cover.folder).rounds) == 2
    assert list((images / "cache").iterdir())


def test_the_dataset_in_the_settings_keeps_its_own_table() -> None:
    table = {**ONE, "dataset": {"name": "digits", "features": ENCODER}}
    recipe = parse_recipe(table, "here")
    assert (recipe.dataset, recipe.features) == ({"name": "digits"}, ENCODER)


# --- checked before it is needed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": "zzz"}, r"features\.name: 'zzz' is none of"),
        ({"features": {"name": "simclr", "epochs": "many"}}, r"features\.epochs: 'many' does not fit"),
        ({"features": "scikit"}, r"features\.name: scikit learns labels and makes no features"),
        ({"stop": {"rounds": "few"}}, r"stop\.rounds: 'few' does not fit"),
        ({"stop": {"accuracy": 0.9}}, r"stop: accuracy is in percent here; 0\.9 would be reached at once"),
        ({"stop": {"accuracy": 101}}, r"stop: an accuracy of 101% is never reached"),
        ({"overlap": {"answers": [2]}}, r"overlap\.answers: \[2\] does not fit"),
    ],
)
def test_what_is_not_needed_yet_is_checked_too(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    recipe = parse_recipe({**ONE, **change}, "here")
    with pytest.raises(ShortlistError, match=message):
        Builder().check(*jobs(recipe, tmp_path))


def test_an_end_is_written_in_percent_as_in_earlier_versions(tmp_path: Path) -> None:
    """In Python it is a share; what a campaign writes down of it is read as the same again."""
    table = {"rounds": 7, "accuracy": 90, "flat": 3, "tolerance": 0.5}
    (job,) = jobs(parse_recipe({**ONE, "stop": table}, "here"), tmp_path)
    settings = Builder().settings(job)
    assert settings.stop == Stopping(rounds=7, accuracy=0.9, flat=3, tolerance=0.005)
    assert settings.config["stop"] == table
    assert tomllib.loads(to_toml(settings.config))["stop"] == table


def test_labels_of_an_annotator_that_are_no_list(tmp_path: Path) -> None:
    for name, array in (("one", np.array(3)), ("many", np.zeros((1347, 2), int))):
        np.save(tmp_path / f"{name}.npy", array)
        asked = parse_recipe({**ONE, "annotator": {"labels": str(tmp_path / f"{name}.npy")}}, "here")
        with pytest.raises(ShortlistError, match=r"annotator\.labels: .* one label an item"):
            Builder().check(*jobs(asked, tmp_path))
