from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from shortlist.campaign.accounting.ledger import Line
from shortlist.experiments.method_names import grouped
from shortlist.experiments.tables import best_method, money_line, rival, state, summaries, summary, terminal_table
from shortlist.measures import Record
from tests.experiments.examples import COST_ENT, CQ, CSQ, ENT, RAND, config, finished, record


def shown(records: list[Record], width: int = 80) -> str:
    console = Console(width=width, record=True, file=StringIO())
    console.print(terminal_table(records))
    return console.export_text()


def test_a_summary_is_the_mean_over_seeds_at_the_last_round() -> None:
    rounds = [
        [finished(1), finished(2, accuracy=a, cost=c, relative_cost=r)]
        for a, c, r in [(0.9, 200, 0.1), (0.94, 300, 0.2)]
    ]
    row = summary("CSQ+Ent", [record(config(seed=s), done) for s, done in enumerate(rounds)])
    assert (row.seeds, row.rounds, row.labelled.mean) == (2, 2, 200)
    assert row.accuracy.percent.written() == "92.0 ± 2.8"
    assert row.relative_cost.percent.written() == "15.0 ± 7.1"
    assert row.accuracy_per_cost.mean == pytest.approx((90 / 10 + 94 / 20) / 2)
    assert row.saving.mean == pytest.approx(1 - 250 / finished(2).conventional_cost)
    assert row.seconds.mean == pytest.approx(1.0)


def test_seeds_are_compared_at_the_last_round_they_share() -> None:
    row = summary("CSQ+Ent", [record(config(seed=0), 3), record(config(seed=1), 2), record(config(seed=2), 0)])
    assert (row.seeds, row.started, row.rounds, row.labelled.mean) == (2, 3, 2, 200)


def test_mean_set_size_weighs_rounds_by_their_questions_and_leaves_the_first_out() -> None:
    rounds = [finished(1), finished(2, mean_set_size=4.0, asked=300), finished(3, mean_set_size=2.0, asked=100)]
    assert summary("CSQ+Ent", [record(rounds=rounds)]).set_size.mean == pytest.approx(3.5)


def test_no_finished_round_and_no_accuracy_are_dashes() -> None:
    assert summary("CSQ+Ent", [record(rounds=0)]).accuracy.percent.written() == "–"
    unmeasured = [finished(1, accuracy=None, macro_f1=None, interval=None)]
    row = summary("CSQ+Ent", [record(rounds=unmeasured)])
    assert (row.accuracy.percent.written(), row.accuracy_per_cost.written()) == ("–", "–")
    assert row.saving.mean == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        (record(ending="3 rounds done"), "finished: 3 rounds done"),
        (record(rounds=0, ledger=[]), "created, nothing asked yet"),
        (record(rounds=0, open_questions=40), "running or stopped in round 1: 40 open questions"),
        (record(rounds=2, open_questions=1), "running or stopped in round 3: 1 open question"),
        (record(rounds=2), "running or stopped in round 3"),
        (
            record(rounds=2, ending="every item of the pool has been asked"),
            "finished: every item of the pool has been asked",
        ),
        (
            record(config(holdout=50), 0, ledger=[Line(0, "holdout", 20, 60.0)], open_questions=30),
            "running or stopped in the holdout: 30 open questions",
        ),
    ],
)
def test_how_far_a_campaign_is(campaign: Record, words: str) -> None:
    assert state(campaign) == words


def test_the_terminal_table_fits_80_characters() -> None:
    text = shown([record(config(q, a, s)) for q, a in ((CQ, RAND), (CSQ, RAND)) for s in (0, 1)])
    assert "…" not in text
    assert "CSQ+Rand" in text
    assert "83.0±0.0" in text
    assert "50.0%" in text


def test_the_floor_is_told_where_it_is_known() -> None:
    rounds = [finished(1), finished(2, floor=finished(2).cost / 1.4)]
    above = [finished(1), finished(2, floor=finished(2).cost / 2)]
    text = shown([record(config(CQ, RAND), above), *(record(config(CSQ, COST_ENT, s), rounds) for s in (0, 1))])
    assert "Cost: CQ+Rand 2.0, CSQ+Cost(Ent) 1.4 × the floor." in text
    assert "A better model has a lower one." in " ".join(text.split())
    assert "floor" not in shown([record()])
    others = shown([record(rounds=rounds), record(config(dataset={"name": "glyphs"}), above)], width=120)
    assert [line.split(": Cost: ")[1].strip() for line in others.splitlines() if ": Cost: " in line] == [
        "CSQ+Ent 1.4 × the floor.",
        "CSQ+Ent 2.0 × the floor.",
    ]


def test_the_terminal_table_names_what_is_not_finished_and_takes_no_name_for_markup() -> None:
    odd = record(config(query={"name": "[red]mine"}, seed=7), 1, open_questions=12)
    text = shown([odd], width=160)
    assert "[red]mine+Ent" in text
    assert "seed 7: running or stopped in round 2: 12 open questions" in text


def test_the_terminal_table_keeps_datasets_apart() -> None:
    text = shown([record(), record(config(dataset={"name": "glyphs"}))])
    assert text.index("digits") < text.index("glyphs")


def test_every_method_has_a_row() -> None:
    records = [record(config(q)) for q in (CQ, CSQ)]
    assert terminal_table(records).row_count == len(grouped(records))


# --- the headline ----------------------------------------------------------------------------------------------


def curve(query: dict[str, Any], acquisition: dict[str, Any], *points: tuple[float, float, float]) -> Record:
    """A campaign by what every round had cost, what it would have cost conventionally, and its accuracy."""
    rounds = [
        finished(i + 1, cost=cost, conventional_cost=conventional, accuracy=accuracy)
        for i, (cost, conventional, accuracy) in enumerate(points)
    ]
    return record(config(query, acquisition), rounds)


INTENTS = [  # entropy's items are dear and teach little, in either way of asking
    curve(CQ, RAND, (1000, 1000, 0.5), (3000, 3000, 0.75), (4000, 4000, 0.82)),
    curve(CSQ, RAND, (1000, 1000, 0.5), (1500, 3000, 0.75), (1800, 4000, 0.817)),
    curve(CSQ, ENT, (1000, 1000, 0.5), (1900, 3000, 0.6), (2520, 4000, 0.707)),
]


def test_the_headline_is_of_the_method_that_is_best_for_as_much_money() -> None:
    """On 3,000 intents it once was "Same labels, 37% cheaper", of 70.7% beside random items at 81.7% for less."""
    assert money_line(INTENTS) == "81.7% accuracy, 55% cheaper than asking conventionally"
    rows = summaries(grouped(INTENTS))
    best = best_method(rows)
    assert best is not None
    assert best.method == "CSQ+Rand"
    other = rival(rows, best)
    assert other is not None
    assert other.method == "CQ+Rand"  # 82% lie behind 81.7%, so it has paid a little less for these
    assert other.conventional_cost == pytest.approx(3000 + 1000 * 6.7 / 7)


def test_entropy_alone_is_compared_with_the_cheapest_way_to_its_accuracy() -> None:
    line = money_line([INTENTS[0], INTENTS[2]])
    conventionally = 1000 + 2000 * 20.7 / 25  # by random items
    assert conventionally > 2520
    assert line == f"70.7% accuracy, {100 - 252000 / conventionally:.0f}% cheaper than asking conventionally"
    dear = curve(CSQ, ENT, (1000, 1000, 0.5), (2900, 4000, 0.707))
    assert money_line([INTENTS[0], dear]) == "70.7% accuracy, 9% dearer than asking conventionally"


def test_accuracy_and_cost_between_two_rounds_and_outside_them() -> None:
    points = [(100, 100, 0.5), (200, 300, 0.75), (300, 500, 0.625), (400, 700, 0.875)]
    row = summary("CSQ+Rand", [curve(CSQ, RAND, *points)])
    found = [row.accuracy_at(cost) for cost in (99, 100, 150, 250, 400, 900)]
    assert found == [None, 0.5, 0.625, 0.6875, 0.875, 0.875]
    assert [row.price_of(a) for a in (0.4, 0.5, 0.625, 0.75, 0.8125, 0.9)] == [100, 100, 150, 200, 375, None]
    assert row.price_of(0.625, "conventional_cost") == 200


def test_without_accuracy_the_same_labels_are_compared() -> None:
    blind = [finished(n, accuracy=None, interval=None, macro_f1=None, cost=n) for n in (1, 2)]
    assert money_line([record(rounds=blind)]) == "Same labels, 100% cheaper than asking conventionally"
