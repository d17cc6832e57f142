from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from shortlist.web.service.dashboard import cohen_kappa, fleiss_kappa, pairwise_agreement, team_kappa

LABELS = st.integers(0, 3)
PEOPLE = ("ana", "bo", "cy", "di")
PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40)
BALLOTS = st.dictionaries(st.sampled_from(PEOPLE), LABELS, max_size=4)
VOTES = st.dictionaries(st.integers(0, 30), BALLOTS, max_size=20)


def columns(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


# --- Cohen -----------------------------------------------------------------------------------------------------


def test_cohen_by_hand() -> None:
    """50 items: both yes 20, first only 5, second only 10, both no 15. p_o = 0.7; the first says yes to 25, the
    second to 30, so p_e = 0.5·0.6 + 0.5·0.4 = 0.5, and kappa = 0.2 / 0.5."""
    cells = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert cohen_kappa([a for a, _ in cells], [b for _, b in cells]) == pytest.approx(0.4)


def test_cohen_below_chance() -> None:
    assert cohen_kappa([0, 1], [1, 0]) == -1.0  # p_o = 0, p_e = 1/2


def test_cohen_by_chance_alone() -> None:
    assert cohen_kappa([0, 0, 1, 1], [0, 1, 0, 1]) == 0.0


def test_cohen_undefined() -> None:
    assert cohen_kappa([], []) is None
    assert cohen_kappa([7, 7, 7], [7, 7, 7]) is None
    assert cohen_kappa([7, 7], [8, 8]) == 0.0  # one label each, but not the same: p_e is 0


def test_cohen_of_unequal_lengths() -> None:
    with pytest.raises(ValueError, match="shorter"):
        cohen_kappa([1, 2, 3], [1, 2])


@given(PAIRS)
def test_cohen_as_scikit_learn_has_it(pairs: list[tuple[int, int]]) -> None:
    a, b = columns(pairs)
    if len(set(a + b)) == 1:
        assert cohen_kappa(a, b) is None
    else:
        assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b))


@given(PAIRS)
def test_cohen_laws(pairs: list[tuple[int, int]]) -> None:
    a, b = columns(pairs)
    kappa = cohen_kappa(a, b)
    assert cohen_kappa(b, a) == kappa
    assert cohen_kappa([f"class {x}" for x in a], [f"class {x}" for x in b]) == kappa
    assert cohen_kappa(a, a) == (1.0 if len(set(a)) > 1 else None)
    if kappa is not None:
        assert -1 <= kappa <= 1
        assert (kappa == 1) == (a == b)


# --- Fleiss ----------------------------------------------------------------------------------------------------


def first_principles(rows: list[list[int]]) -> Fraction:
    """Pairs of votes drawn within an item, against votes drawn from two items chosen blindly."""
    ballots = [[label for label, count in enumerate(row) for _ in range(count)] for row in rows]
    ballots = [b for b in ballots if len(b) >= 2]

    def share(pairs: list[tuple[int, int]]) -> Fraction:
        return Fraction(sum(x == y for x, y in pairs), len(pairs))

    within = [share([(x, y) for i, x in enumerate(b) for j, y in enumerate(b) if i != j]) for b in ballots]
    across = [share([(x, y) for x in b for y in d]) for b in ballots for d in ballots]
    observed, expected = sum(within, Fraction()) / len(within), sum(across, Fraction()) / len(across)
    return (observed - expected) / (1 - expected)


def of_counts(rows: list[list[int]]) -> float | None:
    """Of a table: how many people gave item i the label j."""
    return fleiss_kappa({label: votes for label, votes in enumerate(row) if votes} for row in rows)


def test_fleiss_by_hand() -> None:
    """Four people, three items: AAAA, AABB, BBBC. Of the 12 ordered pairs of each item 12, 4 and 6 agree, so
    p_o = 22/36 = 88/144. A has 6 votes of 12, B 5, C 1: p_e = (36 + 25 + 1)/144. kappa = (88 − 62)/(144 − 62)."""
    assert of_counts([[4, 0, 0], [2, 2, 0], [0, 3, 1]]) == pytest.approx(26 / 82)


def test_fleiss_with_unequal_numbers_of_votes_by_hand() -> None:
    """Items with votes AAB, AA and BB: p_o = (1/3 + 1 + 1)/3 = 7/9. Mean shares: A (2/3 + 1 + 0)/3 = 5/9, B 4/9, so
    p_e = 41/81 and kappa = (63 − 41)/(81 − 41). An item with one vote changes nothing."""
    assert of_counts([[2, 1], [2, 0], [0, 2]]) == pytest.approx(22 / 40)
    assert of_counts([[2, 1], [2, 0], [0, 1], [0, 2], [0, 0]]) == pytest.approx(22 / 40)


def test_fleiss_undefined() -> None:
    assert of_counts([]) is None
    assert of_counts([[0, 0, 0]]) is None
    assert of_counts([[0, 3], [0, 5]]) is None  # one label only
    assert of_counts([[1, 0], [0, 1], [0, 0]]) is None  # nobody to agree with


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12))
def test_fleiss_from_first_principles(rows: list[list[int]]) -> None:
    kappa, used = of_counts(rows), [row for row in rows if sum(row) >= 2]
    if sum(any(row[j] for row in used) for j in range(3)) <= 1:
        assert kappa is None
    else:
        assert kappa == pytest.approx(float(first_principles(rows)), abs=1e-12)


@given(st.lists(LABELS, min_size=2, max_size=30), st.integers(2, 6))
def test_fleiss_of_perfect_agreement_is_one(labels: list[int], people: int) -> None:
    kappa = fleiss_kappa([{label: people} for label in labels])
    assert kappa is None if len(set(labels)) == 1 else kappa == pytest.approx(1)


# --- teams -----------------------------------------------------------------------------------------------------


def test_two_people_have_cohens() -> None:
    votes = {
        1: {"ana": 0, "bo": 0},
        2: {"ana": 0, "bo": 1},
        3: {"bo": 1, "ana": 1},
        4: {"ana": 1, "bo": 1},
        5: {"cy": 2},
    }
    assert team_kappa(votes) == {
        "value": cohen_kappa([0, 0, 1, 1], [0, 1, 1, 1]),
        "kind": "Cohen",
        "items": 4,
        "people": 2,
    }


def test_three_people_have_fleiss() -> None:
    votes = {
        1: {"ana": "A", "bo": "A", "cy": "B"},
        2: {"ana": "A", "cy": "A"},
        3: {"bo": "B", "cy": "B"},
        4: {"bo": "A"},
    }
    kappa = team_kappa(votes)
    assert (kappa["kind"], kappa["items"], kappa["people"]) == ("Fleiss", 3, 3)
    assert kappa["value"] == pytest.approx(22 / 40)


def test_nobody_has_voted_twice() -> None:
    nothing = {"value": None, "kind": "Fleiss", "items": 0, "people": 0}
    assert team_kappa({}) == nothing
    assert team_kappa({1: {"ana": 3}, 2: {"bo": 3}}) == nothing


def test_a_label_may_be_none_of_the_classes() -> None:
    votes: dict[int, dict[str, Hashable]] = {1: {"ana": None, "bo": None}, 2: {"ana": 4, "bo": 4}}
    assert team_kappa(votes)["value"] == 1


@given(VOTES, st.permutations(PEOPLE))
def test_who_is_who_changes_nothing(votes: dict[int, dict[str, int]], order: list[str]) -> None:
    renamed = dict(zip(PEOPLE, order, strict=True))
    other = {item: {renamed[p]: label for p, label in ballot.items()} for item, ballot in reversed(votes.items())}
    one, two = team_kappa(votes), team_kappa(other)
    assert (one["kind"], one["items"], one["people"]) == (two["kind"], two["items"], two["people"])
    assert one["value"] is two["value"] is None or one["value"] == pytest.approx(two["value"], abs=1e-12)
    alone, moved = pairwise_agreement(votes), pairwise_agreement(other)
    assert {renamed[p]: a["n"] for p, a in alone.items()} == {p: a["n"] for p, a in moved.items()}
    assert all(
        moved[renamed[p]]["share"] == pytest.approx(a["share"]) for p, a in alone.items() if a["share"] is not None
    )


@given(VOTES)
def test_the_teams_kappa_is_fleiss_of_its_counts(votes: dict[int, dict[str, int]]) -> None:
    kappa = team_kappa(votes)
    if kappa["people"] == 2:
        return
    counts = [[Counter(ballot.values())[label] for label in range(4)] for ballot in votes.values()]
    assert kappa["value"] == of_counts(counts)


# --- one with the others ---------------------------------------------------------------------------------------


def test_agreement_with_the_others_by_hand() -> None:
    votes = {1: {"ana": 5, "bo": 5, "cy": 7}, 2: {"ana": 3, "bo": 3}, 3: {"ana": 1, "cy": 2}, 4: {"di": 9}, 5: {}}
    assert pairwise_agreement(votes) == {
        "ana": {"n": 3, "share": (1 / 2 + 1 + 0) / 3},
        "bo": {"n": 2, "share": (1 / 2 + 1) / 2},
        "cy": {"n": 2, "share": 0.0},
        "di": {"n": 0, "share": None},
    }


@given(VOTES)
def test_shares_are_shares(votes: dict[int, dict[str, int]]) -> None:
    found = pairwise_agreement(votes)
    assert set(found) == {person for ballot in votes.values() for person in ballot}
    for person, agreement in found.items():
        assert agreement["n"] == sum(person in ballot and len(ballot) >= 2 for ballot in votes.values())
        assert agreement["share"] is None if agreement["n"] == 0 else 0 <= (agreement["share"] or 0) <= 1
