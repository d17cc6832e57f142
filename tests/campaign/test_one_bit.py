"""One bit at a time: "no" leaves a partial label, and the item can be drawn again."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.annotators.simulated import Simulated
from shortlist.campaign.questions.resolution import resolve
from shortlist.campaign.storage.store import Store
from shortlist.queries.one_bit import OneBit
from shortlist.types import NONE, Answer, Round
from tests.campaign.toys import Fixed, answers, asked, campaign, data, learning, rows, run, work

L = 5
DATA = data(30, L)


@pytest.fixture(scope="module")
def model() -> Fixed:
    return Fixed(learning(DATA.labels, L), np.full((20, L), 0.2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bits") / "run"


@pytest.fixture(scope="module")
def rounds(folder: Path, model: Fixed) -> list[Round]:
    return run(folder, DATA, model=model, query=OneBit(), rounds=None)


def test_every_ask_costs_one_bit_and_one_unit_of_the_budget(rounds: list[Round]) -> None:
    assert all(r.asked == 8 for r in rounds[:-1])
    steps = np.diff([r.cost for r in rounds])
    assert steps == pytest.approx([r.asked for r in rounds[1:]])


def test_items_are_drawn_again_until_they_are_labelled(rounds: list[Round], folder: Path) -> None:
    asked_of = defaultdict(list)
    for q in rows(folder):
        if q.round > 1:
            asked_of[q.item].append(q)
    assert max(map(len, asked_of.values())) > 1
    assert rounds[-1].labelled == 30
    for questions in asked_of.values():
        shown = [q.classes[0] for q in questions]
        assert len(set(shown)) == len(shown)  # never the same class twice
        assert [set(q.rejected) for q in questions] == [set(shown[:i]) for i in range(len(shown))]


def test_labels_are_right_and_the_last_class_left_is_not_asked(rounds: list[Round], folder: Path) -> None:
    with Store(folder / "campaign.db", read_only=True) as store:
        found = resolve(store.heard(1), store.partly_answered())
    assert found.labels == dict(enumerate(DATA.labels.tolist()))
    assert found.rejected == {}
    assert max(len(q.rejected) for q in rows(folder)) <= L - 2


def test_probabilities_are_renormalised_without_rejected_classes(rounds: list[Round], folder: Path) -> None:
    partial = [q for q in rows(folder) if q.rejected]
    assert partial
    for q in partial:
        said = asked(folder, q.round)
        probs = said.probs[said.items.tolist().index(q.item)]
        assert probs[list(q.rejected)].max() == 0
        assert probs.sum() == pytest.approx(1, abs=1e-6)
        assert q.classes[0] == probs.argmax()


def test_partial_labels_reach_the_model(rounds: list[Round], model: Fixed) -> None:
    taught = next(t for t in model.taught if len(t.partial))
    assert taught.rejected is not None
    assert taught.rejected.shape == (len(taught.partial), L)
    assert (taught.rejected.sum(axis=1) >= 1).all()
    assert not taught.rejected[np.arange(len(taught.partial)), DATA.labels[taught.partial]].any()
    assert not set(taught.partial.tolist()) & set(taught.items.tolist())


def test_coverage_is_the_share_of_yes(rounds: list[Round], folder: Path) -> None:
    with Store(folder / "campaign.db", read_only=True) as store:
        said = {q.id: q.round for q in store.questions()}
        yes = [a.kind == "label" for a in store.answers() if said[a.question] == 2]
    assert rounds[1].coverage == pytest.approx(np.mean(yes))
    assert rounds[1].mean_set_size == 1


def test_a_no_that_is_taken_back_rules_nothing_out(tmp_path: Path) -> None:
    """Also not through questions that were asked while it stood."""
    probs = np.tile([0.4, 0.3, 0.2, 0.05, 0.05], (30, 1))
    model = Fixed(probs, np.full((20, L), 0.2))
    truth = np.full(30, 4)
    with campaign(tmp_path, DATA, model=model, query=OneBit(), initial=8, budget=22, rounds=9) as going:
        for _ in range(3):  # round 1, then "not class 0", then "not class 1"
            work(going)
            going.record(answers(going.open_questions(), truth))
        work(going)
        first = next(a for a in going.store.answers() if a.kind == "none")
        found = resolve(going.store.heard(1), going.store.partly_answered())
        assert found.rejected[first.item] == {0, 1}
        going.record([Answer(first.question, "skip", supersedes=first.id)])
        found = resolve(going.store.heard(1), going.store.partly_answered())
        assert found.rejected[first.item] == {1}


def test_a_whole_campaign_on_tensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class OnTorch(Fixed):
        def predict(self, items: Any) -> Any:
            return [type(b)(torch.from_numpy(b.probs), b.embeddings) for b in super().predict(items)]

    on_torch = OnTorch(learning(DATA.labels, L), np.full((20, L), 0.2))
    on_numpy = Fixed(learning(DATA.labels, L), np.full((20, L), 0.2))
    a = run(tmp_path / "a", DATA, model=on_torch, query=OneBit(), rounds=5)
    b = run(tmp_path / "b", DATA, model=on_numpy, query=OneBit(), rounds=5)
    assert [(r.cost, r.labelled) for r in a] == [(r.cost, r.labelled) for r in b]


def test_a_miss_of_two_classes_is_a_label(tmp_path: Path) -> None:
    dataset = data(20, 2)
    rounds = run(tmp_path, dataset, query=OneBit(), rounds=None)
    assert rounds[-1].cost == pytest.approx(20)
    assert rounds[-1].labelled == 20


def test_simulated_answers_no() -> None:
    from shortlist.types import Question

    question = Question(1, 2, 0, "a", "query", classes=(3,), cuts=(1,), n_classes=5, exhaustive=False)
    (no,) = Simulated([2]).answer([question])
    assert (no.kind, no.path) == ("none", (NONE,))
    (yes,) = Simulated([3]).answer([question])
    assert (yes.kind, yes.path) == ("label", (3,))
