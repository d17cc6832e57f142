"""When a model learns, and what queries learn that ask nothing for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.random import Random
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting.evidence import ENOUGH, Said, have_paid, newest
from shortlist.campaign.engine import Campaign
from shortlist.campaign.formats.format import FileLabel
from shortlist.campaign.formats.import_ import import_labels
from shortlist.campaign.schedule import Doubling, Fixed
from shortlist.campaign.storage.store import Store
from shortlist.datasets.arrays import Arrays
from shortlist.measures import recharge
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.nested import Nested
from shortlist.types import Labelled, Round, ShortlistError
from tests.backends import softmax
from tests.campaign import toys
from tests.campaign.toys import data, learning, snapshot

DATA = data(600, 12)
DOUBLING = Doubling(first=10, most=120)


def going(folder: Path, dataset: Arrays = DATA, says: Any = None, **settings: Any) -> Campaign:
    model = toys.Fixed(says or learning(dataset.labels, len(dataset.classes)), test=softmax(20, len(dataset.classes)))
    given = {"query": Nested(), "schedule": DOUBLING, "acquisition": Random(), **settings}
    return Campaign(folder, dataset=dataset, model=model, **given)


def ended(folder: Path, dataset: Arrays = DATA, says: Any = None, **settings: Any) -> list[Round]:
    with going(folder, dataset, says, **settings) as campaign:
        return list(campaign.run(Simulated(dataset.labels)))


def states(folder: Path) -> list[Any]:
    with Store(folder / "campaign.db", read_only=True) as store:
        return [row.query for row in store.rounds()]


# --- schedules -------------------------------------------------------------------------------------------------


def test_it_learns_at_ten_twenty_forty_labels_and_asks_no_batch_larger_than_most(tmp_path: Path) -> None:
    rounds = ended(tmp_path / "run")
    assert [r.labelled for r in rounds] == [10, 20, 40, 80, 160, 280, 400, 520, 600]
    assert [r.asked for r in rounds] == [10, 10, 20, 40, 80, 120, 120, 120, 80]


def test_its_rounds_end_a_campaign(tmp_path: Path) -> None:
    assert [r.labelled for r in ended(tmp_path / "run", schedule=Doubling(10, 120, rounds=3))] == [10, 20, 40]


def test_known_labels_are_learnt_from_before_the_first_question(tmp_path: Path) -> None:
    with going(tmp_path / "run") as campaign:
        keys, names = campaign.known.keys, campaign.known.classes
        known = {keys[i]: names[DATA.labels[i]] for i in range(100)}
        import_labels(campaign.folder.path, [FileLabel("a file", *pair, "file") for pair in known.items()])
        first = campaign.questions()
        assert {question.round for question in first} == {2}
        assert len(first) == 100  # as many as there are labels
        assert campaign.finished_rounds()[0].labelled == 100
        assert campaign.finished_rounds()[0].cost == 0


def test_the_same_rounds_as_before_without_a_schedule_or_with_one_of_fixed_batches(tmp_path: Path) -> None:
    usual: dict[str, Any] = {"query": CandidateSet(n_cal=20), "schedule": None}
    ended(tmp_path / "named", **usual, initial=30, budget=40, rounds=5)
    ended(tmp_path / "given", **usual | {"schedule": Fixed(30, 40, rounds=5)})
    assert snapshot(tmp_path / "named") == snapshot(tmp_path / "given")
    written = (tmp_path / "given" / "campaign.toml").read_text()
    assert written == (tmp_path / "named" / "campaign.toml").read_text()
    assert "budget = 40" in written


def test_a_schedule_is_recorded_and_another_is_refused(tmp_path: Path) -> None:
    ended(tmp_path / "run", schedule=Doubling(10, 50, rounds=2))
    with pytest.raises(ShortlistError, match=r"schedule\.most"):
        going(tmp_path / "run", schedule=Doubling(10, 60, rounds=2))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"schedule": None}, "initial: a campaign needs it, or a schedule"),
        ({"schedule": None, "initial": 5}, "budget: a campaign needs it, or a schedule"),
        ({"initial": 5}, "initial: give it or a schedule, not both"),
        ({"schedule": Doubling}, "schedule: Doubling is a class"),
        ({"schedule": 5}, "schedule: 5 has no 'first_batch'"),
        ({"query": CandidateSet(n_cal=121)}, "n_cal: 121 .* raise schedule.most"),
    ],
)
def test_what_makes_no_schedule_is_refused(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=f"^{sentence}"):
        going(tmp_path / "run", **given)
    for wrong in ({"first": 0}, {"most": 2.5}, {"first": True}):
        with pytest.raises(ShortlistError, match=r"^schedule: "):
            Doubling(**wrong)


def test_questions_ahead_are_no_more_than_the_next_round_asks(tmp_path: Path) -> None:
    with going(tmp_path / "run", ahead=60) as campaign:
        campaign.questions()
        assert len(campaign.ahead(100)) == 10


# --- learning without asking -----------------------------------------------------------------------------------


def test_a_query_learns_from_what_was_said_before_the_answers(tmp_path: Path) -> None:
    ended(tmp_path / "run")
    with going(tmp_path / "run") as campaign:
        told = [campaign.view.asked(n) for n in range(2, 6)]
    found = states(tmp_path / "run")
    assert found[0] is None  # of a first round nothing was said
    for n in range(2, 6):
        probs = np.concatenate([asked.probs for asked in told[n - 2 :: -1]])
        labels = DATA.labels[np.concatenate([asked.items for asked in told[n - 2 :: -1]])]
        assert found[n - 1] == Nested().calibrate(probs, labels).state


def test_a_model_that_says_what_it_would_have_said_is_believed(tmp_path: Path) -> None:
    class Telling(toys.Fixed):
        def held_out(self) -> Any:
            items = self.taught[-1].items
            return items, softmax(len(items), 12, seed=len(items)), self.taught[-1].labels

    model = Telling(learning(DATA.labels, 12), test=softmax(20, 12))
    with Campaign(
        tmp_path / "run", dataset=DATA, model=model, query=Nested(), schedule=DOUBLING, acquisition=Random()
    ) as campaign:
        rounds = list(campaign.run(Simulated(DATA.labels)))
    labels = [learnt.labels for learnt in model.taught]
    wanted = [Nested().calibrate(softmax(len(y), 12, seed=len(y)), y).state for y in labels]
    assert states(tmp_path / "run") == wanted
    assert len(rounds) == len(wanted)


def test_candidate_sets_need_no_calibration_questions_either(tmp_path: Path) -> None:
    rounds = ended(tmp_path / "run", query=CandidateSet(n_cal=0, guard=True))
    with Store(tmp_path / "run" / "campaign.db", read_only=True) as store:
        assert {question.purpose for question in store.questions()} == {"initial", "query"}
    assert rounds[-1].cost < 0.8 * rounds[-1].conventional_cost
    found = states(tmp_path / "run")
    assert rounds[-1].alpha == found[-2]["alpha"]  # the one that its lists were made with


def test_nested_lists_on_early_answers_are_cheaper_than_the_papers_way(tmp_path: Path) -> None:
    paper = ended(tmp_path / "paper", query=CandidateSet(n_cal=40), schedule=Fixed(120, 120))
    ours = ended(tmp_path / "ours")
    assert ours[-1].cost < 0.95 * paper[-1].cost


def test_a_killed_campaign_goes_on_the_same(tmp_path: Path) -> None:
    ended(tmp_path / "whole")
    for _ in range(99):
        with going(tmp_path / "steps") as campaign:  # a new process for every step
            if not campaign.advance():
                waiting = campaign.open_questions()
                if not waiting:
                    break
                campaign.record(toys.answers(waiting[:50], DATA.labels))
    assert snapshot(tmp_path / "steps") == snapshot(tmp_path / "whole")


# --- never dearer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_model_of_shuffled_labels_costs_what_asking_conventionally_does(tmp_path: Path, seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(DATA.labels)
    for query in (Nested(), CandidateSet(n_cal=0, guard=True), CandidateSet(n_cal=30, guard=True)):
        rounds = ended(
            tmp_path / f"{type(query).__name__}{query.n_cal}", says=learning(shuffled, 12), query=query, seed=seed
        )
        assert rounds[-1].cost <= 1.005 * rounds[-1].conventional_cost


def test_lists_that_have_cost_more_are_switched_off_and_come_back_when_they_would_pay(tmp_path: Path) -> None:
    """A model that is right about what it has learnt from, which is what it tells, and for a while wrong elsewhere."""

    class Lying(toys.Fixed):
        def held_out(self) -> Any:
            learnt = self.taught[-1]
            return learnt.items, 0.97 * np.eye(12)[learnt.labels] + 0.03 / 12, learnt.labels

    def says(labelled: Labelled) -> Any:
        lies = 40 <= len(labelled.items) < 280
        return 0.97 * np.eye(12)[(DATA.labels + lies) % 12] + 0.03 / 12

    with Campaign(
        tmp_path / "run",
        dataset=DATA,
        model=Lying(says, test=softmax(20, 12)),
        query=Nested(),
        schedule=Doubling(20, 40),
        acquisition=Random(),
    ) as campaign:
        list(campaign.run(Simulated(DATA.labels)))
        shown = campaign.view.questions()
    lists = {n: np.mean([bool(q.cuts) for q in shown if q.round == n]) for n in range(1, 16)}
    assert lists[1] == 0
    assert lists[2] == 1  # right so far
    assert 0 in {lists[n] for n in range(4, 8)}  # wrong, and found out
    assert lists[15] == 1  # right again


def test_evidence_is_of_the_latest_rounds_and_fades() -> None:
    right, wrong = Nested().restored({"temperature": 1.0, "share": 0.0, "pays": True}), Conventional()
    probs = np.array([[0.9, 0.05, 0.03, 0.02]] * 10)
    hits, misses = Said(probs, np.zeros(10, np.int64)), Said(probs, np.full(10, 3))
    assert have_paid([])
    assert have_paid([(wrong, misses)])  # nothing was risked
    assert have_paid([(right, hits)])
    assert not have_paid([(right, misses)])
    assert not have_paid([(right, misses), (right, hits)])
    assert have_paid([(right, hits), (right, Said(probs, np.tile([0, 3], 5)))])
    assert have_paid([(right, hits)] * 3 + [(right, misses)] * 9)  # long ago


def test_whole_rounds_are_learnt_from_until_there_are_enough() -> None:
    rounds = [Said(np.full((n, 2), 0.5), np.zeros(n, np.int64)) for n in (ENOUGH // 2, ENOUGH // 2, 1)]
    assert len(newest(rounds)) == ENOUGH
    assert len(newest([Said(np.full((3 * ENOUGH, 2), 0.5), np.zeros(3 * ENOUGH, np.int64))])) == 3 * ENOUGH
    assert len(newest([])) == 0


def test_another_campaigns_labels_are_charged_as_nested_lists_would_have_been(tmp_path: Path) -> None:
    ended(tmp_path / "ours", query=Nested(), schedule=Fixed(60, 60))
    rounds = ended(tmp_path / "random", query=CandidateSet(n_cal=30), schedule=Fixed(60, 60))
    own = recharge(tmp_path / "ours", Nested())
    with going(tmp_path / "ours", schedule=Fixed(60, 60)) as campaign:
        assert [r.cost for r in own] == pytest.approx([r.cost for r in campaign.finished_rounds()])
    charged = recharge(tmp_path / "random", Nested())
    assert charged[-1].cost < rounds[-1].cost


def test_what_was_asked_ahead_is_charged_with_the_lists_of_the_round_before(tmp_path: Path) -> None:
    with going(tmp_path / "run", schedule=Fixed(60, 60), ahead=20) as campaign:
        while questions := campaign.questions():
            campaign.record(toys.answers([*questions, *campaign.ahead(7)], DATA.labels))
        paid = [r.cost for r in campaign.finished_rounds()]
        assert any(q.purpose == "ahead" and q.cuts for q in campaign.view.questions())
    assert [r.cost for r in recharge(tmp_path / "run", Nested())] == pytest.approx(paid)


def test_a_query_that_asks_d_cal_makes_no_lists_either_once_they_have_not_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortlist.campaign.engine.have_paid", lambda rounds: False)
    ended(tmp_path / "run", query=CandidateSet(n_cal=30, guard=True), schedule=Fixed(60, 60))
    with Store(tmp_path / "run" / "campaign.db", read_only=True) as store:
        assert not any(question.cuts for question in store.questions())
    assert any((state or {}).get("threshold") for state in states(tmp_path / "run"))  # what they would be is known
