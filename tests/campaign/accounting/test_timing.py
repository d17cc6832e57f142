"""Lists are made and items chosen by bits, or by the seconds that people take; what was spent stays comparable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.accounting.timing import ENOUGH, priced
from shortlist.campaign.engine import Campaign
from shortlist.campaign.storage.folder import Asked
from shortlist.costs import Bits, Seconds
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Answer, Question, ShortlistError
from tests.campaign.toys import Fixed, answers, campaign, data, learning, run, snapshot

DATA = data(120, 12, test=0)
DEAR_STAGES = Seconds(a=6.0, b=0.5)  # whoever has to look at a second list loses much


def at_pace(question: Question, answer: Answer, pace: Seconds) -> Answer:
    return replace(answer, stage_seconds=tuple(float(pace(n)) for n in question.options[: len(answer.path)]))


def play(going: Campaign, pace: Seconds = DEAR_STAGES, rounds: int = 99) -> None:
    """Answer everything truly and at this pace, up to a round."""
    while (questions := going.questions()) and questions[0].round <= rounds:
        said = answers(questions, DATA.labels)
        going.record([at_pace(q, a, pace) for q, a in zip(questions, said, strict=True)])


def settings(**more: Any) -> dict[str, Any]:
    return {"initial": 40, "budget": 20, "query": CandidateSet(n_cal=10), "acquisition": CostAware(Entropy()), **more}


def test_the_seconds_of_people_are_found_from_their_answers(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, **settings()) as going:
        assert going.view.times().fitted() is None
        play(going)
        found = going.view.times().fitted()
        assert found is not None
        assert [found.a, found.b] == pytest.approx([6.0, 0.5])
        early = going.view.times(through=ENOUGH - 1)
        assert (len(early.seconds), early.fitted()) == (ENOUGH - 1, None)


def test_measured_seconds_decide_what_is_asked_and_bits_are_what_is_charged(tmp_path: Path) -> None:
    with campaign(tmp_path / "bits", DATA, **settings()) as by_bits:
        play(by_bits, rounds=3)
        sizes_by_bits = [len(q.classes) for q in by_bits.store.questions() if q.round == 3 and q.purpose == "query"]
    with campaign(tmp_path / "seconds", DATA, **settings(price="measured")) as going:
        play(going, rounds=3)
        asked = Asked.read(going.folder.asked(3))
        (second,) = [row for row in going.store.rounds() if row.number == 2]
        query = priced(going.query, going.view.times(second.trained_through))
        assert isinstance(query.cost, Seconds)
        assert query.cost.a == pytest.approx(6.0)
        at = query.restored({"alpha": asked.alpha_before, "threshold": asked.threshold_before})
        np.testing.assert_allclose(asked.prices, at.price(asked.probs))
        sizes = [len(q.classes) for q in going.store.questions() if q.round == 3 and q.purpose == "query"]
        costs = [cost for round, purpose, cost in going.store.costs() if purpose == "initial"]
        assert costs == [pytest.approx(np.log2(12))] * 40
    assert np.mean(sizes) != np.mean(sizes_by_bits)


def test_a_killed_campaign_prices_as_if_nothing_had_happened(tmp_path: Path) -> None:
    with campaign(tmp_path / "whole", DATA, **settings(price="measured")) as going:
        play(going)
    while True:  # a process for every step
        with campaign(tmp_path / "pieces", DATA, **settings(price="measured")) as going:
            if going.advance():
                continue
            if not (questions := going.open_questions()):
                break
            said = answers(questions, DATA.labels)
            going.record([at_pace(q, a, DEAR_STAGES) for q, a in zip(questions, said, strict=True)])
    assert snapshot(tmp_path / "pieces") == snapshot(tmp_path / "whole")


def test_until_enough_is_timed_the_papers_study_prices(tmp_path: Path) -> None:
    run(tmp_path / "run", DATA, **settings(price="measured"))  # simulated answers take no time
    with campaign(tmp_path / "run", DATA, **settings(price="measured")) as going:
        assert priced(going.query, going.view.times()).cost == Seconds()
        assert going.query.cost == Bits()


def test_pricing_may_be_changed_between_starts_and_nothing_else(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, **settings()) as going:
        play(going, rounds=2)
    with campaign(tmp_path / "run", DATA, **settings(price="measured")) as going:
        play(going)
        assert going.store.config()["price"] == "measured"
        assert going.ending == "4 rounds done"


def test_what_may_be_spent_is_in_the_unit_of_cost(tmp_path: Path) -> None:
    most = 60 * np.log2(12)
    with campaign(tmp_path / "run", DATA, **settings(price="measured", rounds=None, stop=Stopping(cost=most))) as going:
        play(going)
        assert going.ending is not None
        assert sum(cost for _, _, cost in going.store.costs()) <= 1.1 * most


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="price: 'dollars' is none of cost, measured"):
        campaign(tmp_path / "run", DATA, **settings(price="dollars"))
    model = Fixed(learning(DATA.labels, 12))

    class Plain:
        n_cal, cost, state = 0, Bits(), None

        def calibrate(self, *_: Any) -> Any: ...
        def restored(self, *_: Any) -> Any: ...
        def price(self, *_: Any) -> Any: ...
        def plan(self, *_: Any) -> Any: ...

    with pytest.raises(ShortlistError, match="make it a dataclass"):
        campaign(tmp_path / "run", DATA, **settings(price="measured", query=Plain(), model=model))
