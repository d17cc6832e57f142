"""The order of the classes that no list names: what the model said of the item, read from what each round keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.annotators.simulated import Simulated
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.orders import Orders, ranked
from shortlist.queries.conventional import Conventional
from shortlist.queries.top_k import TopK
from tests.campaign.toys import answers, campaign, data, rows, work


@given(st.integers(1, 60), st.integers(0, 3), st.integers(1, 12), st.data())
def test_only_those_that_count_are_put_in_order_and_nobody_can_tell(
    n: int, added: int, most: int, drawn: st.DataObject
) -> None:
    probs = np.asarray(drawn.draw(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3]), min_size=n, max_size=n)), np.float32)
    without = drawn.draw(st.sets(st.integers(0, n + added - 1)))
    whole = [*np.argsort(-probs, kind="stable").tolist(), *range(n, n + added)]
    assert ranked(probs, n + added, without, most) == [cls for cls in whole if cls not in without][:most]


def expected(going: Campaign, row: Any) -> list[int] | None:
    """By reading all of what the round keeps."""
    ahead = row.purpose == "ahead"
    try:
        asked = going.view.asked(row.round - ahead)
    except ValueError:
        return None
    items, probs = (asked.ahead_items, asked.ahead_probs) if ahead else (asked.items, asked.probs)
    places = np.flatnonzero(items == row.item)
    if not len(places):
        return None
    order = np.argsort(-probs[places[0]], kind="stable").tolist()
    return [cls for cls in order if cls not in row.classes]


@pytest.mark.parametrize("query", [Conventional(), TopK(2)])
def test_every_question_of_a_campaign_has_the_order_of_its_own_round(tmp_path: Path, query: Any) -> None:
    with campaign(tmp_path / "run", query=query, ahead=3) as going:
        for _ in range(3):
            work(going)
            going.ahead(2)
            going.record(answers(going.open_questions(), data().labels))
        orders, seen = Orders(going.view), set()
        for row in rows(going.folder.path):
            order = orders.of(row)
            assert order == expected(going, row)
            seen.add((row.purpose, order is None))
    # items that are handed out before there is a model are in no order; those after are
    assert seen == {("initial", True), ("ahead", True), ("ahead", False), ("query", False)}


def test_a_class_that_came_later_comes_last_and_what_was_ruled_out_does_not_come(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", query=TopK(2)) as going:
        list(going.run(Simulated(data().labels)))
        orders, row = Orders(going.view), next(row for row in rows(going.folder.path) if row.purpose == "query")
        order = orders.of(row)
        assert order is not None
        wider = type(row)(**{**vars(row), "n_classes": 7, "rejected": (order[0],)})
        assert orders.of(wider) == [*order[1:], 5, 6]


@pytest.mark.parametrize("damage", ["gone", "short", "empty", "no archive"])
def test_a_round_whose_file_is_gone_or_broken_has_no_order_and_nothing_fails(tmp_path: Path, damage: str) -> None:
    with campaign(tmp_path / "run", query=TopK(2)) as going:
        list(going.run(Simulated(data().labels)))
        row = next(row for row in rows(going.folder.path) if row.purpose == "query")
        orders, path = Orders(going.view), going.folder.asked(row.round)
        assert orders.of(row) is not None  # and it knows now where in the file the row was
        whole = path.read_bytes()
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes({"short": whole[: len(whole) // 8], "empty": b"", "no archive": b"x" * 100}[damage])
        assert orders.of(row) is None
        assert Orders(going.view).of(row) is None
        path.write_bytes(whole)
        assert orders.of(row) is not None


def test_a_control_question_has_the_order_of_its_item_or_of_one_that_looks_like_its_class(tmp_path: Path) -> None:
    labels = data().labels
    with campaign(tmp_path / "run", query=TopK(2)) as going:
        list(going.run(Simulated(labels)))
        orders, table = Orders(going.view), rows(going.folder.path)
        asked = next(row for row in table if row.purpose == "query" and row.round == 3)
        assert orders.instead(asked, 0) == orders.of(asked)
        never = next(item for item in range(40) if item not in {row.item for row in table if row.round > 1})
        control = type(asked)(**{**vars(asked), "item": never, "classes": (0, 1)})
        probs = going.view.asked(3).probs
        like = probs[probs[:, 4].argmax()]
        assert orders.instead(control, 4) == ranked(like, 5, (0, 1))
