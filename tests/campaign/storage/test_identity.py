"""Items and classes keep their numbers, whatever order the dataset comes in and whatever is added."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from shortlist import measures
from shortlist.campaign.storage import schema
from shortlist.campaign.storage.folder import Folder, Identities
from shortlist.campaign.storage.store import Store
from shortlist.datasets.arrays import Arrays
from shortlist.queries.conventional import Conventional
from shortlist.types import Labelled, ShortlistError
from tests.campaign.toys import Fixed, answers, campaign, data, hashes, learning, rows, run, snapshot, work

DATA = data()


def reordered(dataset: Arrays, items: Any = None, classes: Any = None, extra: tuple[str, ...] = ()) -> Arrays:
    """The same things in another order, with classes added at the end."""
    order = np.arange(len(dataset)) if items is None else items
    assert dataset.test_labels is not None
    names = [*(dataset.classes if classes is None else [dataset.classes[c] for c in classes]), *extra]
    return Arrays(
        dataset.inputs[order],
        [dataset.classes[c] for c in dataset.labels[order]],
        keys=[dataset.keys[i] for i in order],
        classes=names,
        test_inputs=dataset.test_inputs,
        test_labels=[dataset.classes[c] for c in dataset.test_labels],
    )


def model_of(dataset: Arrays, origin: Arrays = DATA, width: int | None = None) -> Fixed:
    """Says the same about an item wherever it stands; columns are the campaign's classes, as it was taught."""
    says, at = learning(origin.labels, len(origin.classes)), [origin.keys.index(k) for k in dataset.keys]

    def by_position(labelled: Labelled) -> Any:
        found = says(labelled)[at]
        return np.pad(found, ((0, 0), (0, labelled.n_classes - found.shape[1])))

    return Fixed(by_position, np.full((20, width or len(dataset.classes)), 1 / (width or len(dataset.classes))))


def test_a_dataset_in_another_order_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    run(tmp_path / "whole", DATA)
    run(tmp_path / "mixed", DATA, rounds=2)
    rng = np.random.default_rng(0)
    other = reordered(DATA, rng.permutation(40), rng.permutation(5))
    assert list(other.classes) != list(DATA.classes)
    run(tmp_path / "mixed", other, model=model_of(other))
    whole, mixed = snapshot(tmp_path / "whole"), snapshot(tmp_path / "mixed")
    assert mixed["labels"] == whole["labels"]
    assert mixed["answers"] == whole["answers"]
    assert mixed["003"] == whole["003"]
    assert measures.labels(tmp_path / "mixed") == measures.labels(tmp_path / "whole")


def test_accuracy_is_in_the_campaigns_own_classes(tmp_path: Path) -> None:
    other = reordered(DATA, classes=[4, 3, 2, 1, 0])
    run(tmp_path, DATA, rounds=1)
    right = np.eye(5)[DATA.test_labels]  # columns in the order the campaign met them
    assert run(tmp_path, other, model=Fixed(learning(DATA.labels, 5), right), rounds=2)[-1].accuracy == 1


def test_questions_are_in_the_datasets_numbers(tmp_path: Path) -> None:
    run(tmp_path, DATA, rounds=1)
    other = reordered(DATA, np.arange(40)[::-1], [4, 3, 2, 1, 0])
    with campaign(tmp_path, other, model=model_of(other), rounds=2) as going:
        work(going)
        shown = going.open_questions()
    kept = {row.id: row for row in rows(tmp_path)}
    for question in shown:
        assert other.keys[question.item] == question.key == DATA.keys[kept[question.id].item]
        assert [other.classes[c] for c in question.classes] == [DATA.classes[c] for c in kept[question.id].classes]


def test_new_items_join_the_pool(tmp_path: Path) -> None:
    grown = data(60)
    first = reordered(grown, np.arange(40))
    run(tmp_path, first, model=model_of(first, grown), rounds=2)
    more = reordered(grown, np.r_[np.arange(40, 60), np.arange(40)])  # the new ones stand first
    rounds = run(tmp_path, more, model=model_of(more, grown), rounds=99)
    assert rounds[-1].labelled == 60
    with Store(tmp_path / "campaign.db", read_only=True) as store:
        assert store.keys() == [f"item{i}" for i in range(60)]
        assert (2, "grown", "20 new items") in store.events()
    assert measures.labels(tmp_path) == {k: grown.classes[c] for k, c in zip(grown.keys, grown.labels, strict=True)}


def test_relative_cost_is_of_the_larger_pool(tmp_path: Path) -> None:
    grown = data(80)
    first = reordered(grown, np.arange(40))
    before = run(tmp_path, first, model=model_of(first, grown), query=Conventional(), rounds=2)
    after = run(tmp_path, grown, model=model_of(grown, grown), query=Conventional(), rounds=3)
    assert before[1].relative_cost == pytest.approx(16 / 40)
    assert after[1].relative_cost == before[1].relative_cost  # finished rounds do not change
    assert after[2].relative_cost == pytest.approx(24 / 80)


def test_a_new_class_widens_the_probabilities(tmp_path: Path) -> None:
    run(tmp_path, DATA, rounds=2)
    wider = reordered(DATA, extra=("new",))
    model = model_of(wider)
    run(tmp_path, wider, model=model, rounds=3)
    assert {t.n_classes for t in model.taught} == {6}
    third = [q for q in rows(tmp_path) if q.round == 3]
    assert {q.n_classes for q in third} == {6}
    with Store(tmp_path / "campaign.db", read_only=True) as store:
        assert store.class_names() == [*DATA.classes, "new"]


def test_a_class_added_while_calibrating_can_be_answered_at_once(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA, model=model_of(DATA)) as going:
        work(going)
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
        assert going.store.rounds()[-1].state == "calibrating"
    wider = reordered(DATA, classes=[4, 3, 2, 1, 0], extra=("new",))
    truth = np.full(40, 5)
    with campaign(tmp_path, wider, model=model_of(wider)) as going:
        for question in going.open_questions():
            assert question.n_classes == 6
            assert sorted(c for stage in question.stages for c in stage) == list(range(6))
        going.record(answers(going.open_questions(), truth))
        work(going)  # it calibrates on what it had never heard of
        assert {q.n_classes for q in going.open_questions()} == {6}
        going.record(answers(going.open_questions(), truth))
        work(going)
        assert len(going.finished_rounds()) == 2
    assert list(measures.labels(tmp_path).values()).count("new") == 8


def test_lost_items_or_classes_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    run(tmp_path, DATA, rounds=1)
    before = hashes(tmp_path)
    fewer = reordered(DATA, np.arange(30))
    with pytest.raises(ShortlistError, match=r"no longer has items .*10, first 'item30'.*put them back"):
        campaign(tmp_path, fewer, model=model_of(fewer))
    more_and_fewer = Arrays(np.zeros((41, 1)), keys=[*DATA.keys, "item40"], classes=["c0", "c1"])
    with pytest.raises(ShortlistError, match=r"no longer has classes .*3, first 'c2'"):
        campaign(tmp_path, more_and_fewer, rounds=9)
    assert hashes(tmp_path) == before


def test_since_when_there_is_an_item_or_a_class_is_kept(tmp_path: Path) -> None:
    """Those from the start since round 0, others since the round after the last that had begun without them."""
    larger = data(43)
    run(tmp_path / "run", Arrays(larger.inputs[:40], larger.labels[:40], classes=larger.classes, keys=larger.keys[:40]))
    grown = reordered(larger, extra=("new",))
    with campaign(tmp_path / "run", grown, model=model_of(grown, larger), rounds=6) as going:
        rounds = going.store.rounds()[-1].number
        with going.store.engine.connect() as c:
            items = c.execute(sa.select(schema.items.c.key, schema.items.c.added_in)).all()
            classes = c.execute(sa.select(schema.classes.c.name, schema.classes.c.active_since)).all()
        assert {tuple(row) for row in items} == {
            (key, 0 if i < 40 else rounds + 1) for i, key in enumerate(larger.keys)
        }
        assert {tuple(row) for row in classes} == {(name, 0) for name in larger.classes} | {("new", rounds + 1)}
        assert [detail for _, step, detail in going.store.events() if step == "grown"] == [
            "3 new items",
            "1 new classes",
        ]


def test_classes_are_matched_one_by_one() -> None:
    """An answer names a class of the dataset; −1, where nothing is known, stays −1."""
    known = Identities(["a"], ["x", "y", "z"], np.array([0]), np.array([2, 0, 1]), np.array([1, 2, 0]), 1, 3)
    assert [known.own_class(cls) for cls in range(3)] == [2, 0, 1]
    for wrong in (-1, 3):
        with pytest.raises(ShortlistError, match=f"answer: there is no class {wrong}; there are 3"):
            known.own_class(wrong)
    assert known.own_labels(np.array([0, -1, 2, 1])).tolist() == [2, -1, 1, 0]
    assert not known.is_grown
    assert replace(known, n_old_keys=0).is_grown
    assert replace(known, n_old_classes=2).is_grown


def test_a_campaign_that_another_process_has_just_made_is_not_made_again(tmp_path: Path) -> None:
    """Between the look whether one is here and the lock."""
    with campaign(tmp_path / "run", DATA) as going:
        going.questions()
    before = hashes(tmp_path / "run")
    with pytest.raises(ShortlistError, match="another process has just made this campaign; start again"):
        Folder(tmp_path / "run")._create(going.config, DATA)
    assert hashes(tmp_path / "run") == before
