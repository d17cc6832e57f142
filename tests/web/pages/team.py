"""A campaign that two people have worked on for some rounds: digits, an overlap, control questions, items set aside."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from pathlib import Path

import numpy as np

from shortlist.acquisition.entropy import Entropy
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.store import QuestionRow
from shortlist.datasets.builtin.digits import Digits
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Answer, Rng
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People

PASSWORD = "a long password"
NOTE = "<b>a seven</b>, or a one with a hat?"
ROUND = 40  # questions


def digits_campaign(folder: Path) -> Campaign:
    return Campaign(
        folder,
        dataset=Digits(images=True),
        model=Scikit(),
        query=CandidateSet(n_cal=10),
        acquisition=Entropy(),
        initial=ROUND,
        budget=ROUND,
        rounds=12,
        overlap=Overlap(2, 0.3, "adjudication"),
    )


def team_of_two(folder: Path) -> People:
    people = People(folder, passwords=Passwords(time_cost=1, memory_kib=8, parallelism=1))
    people.add("ana", "owner", PASSWORD)
    people.add("bo", "annotator", PASSWORD)
    return people


def work(campaign: Campaign, until: int, *, seed: int = 0) -> None:
    """Go on until round `until` is open, which stays so."""
    rng = np.random.default_rng(seed)
    while True:
        while campaign.advance():
            pass
        rows = campaign.store.open_questions()
        if not rows or rows[0].round >= until:
            return
        campaign.record([answer for row in rows for answer in _said(campaign, row, rng)])


def _said(campaign: Campaign, row: QuestionRow, rng: Rng) -> Iterator[Answer]:
    """What the people who are asked say; now and then one of them is mistaken, or cannot tell."""
    question = campaign.view.shown(row)
    truth = int(campaign.settings.dataset.labels[question.item])
    first = int(rng.integers(2))
    for person in (("ana", "bo") * 2)[first : first + row.wanted]:
        lot = rng.random()
        if row.wanted == 1 and lot < 0.02:
            kind = "unreadable" if lot < 0.01 else "none"
            path = () if kind == "unreadable" else (-1,) * len(question.stages)
            yield Answer(row.id, kind, path, person, note="smudged" if kind == "unreadable" else None)  # type: ignore[arg-type]
            continue
        mistaken = lot > (0.94 if person == "bo" else 0.98)
        path = question.path_to((truth + 1) % 10 if mistaken else truth)
        sizes = [len(stage) + (i + 1 < len(question.stages)) for i, stage in enumerate(question.stages)][: len(path)]
        pace = 1.0 if person == "ana" else 1.25
        took = tuple(float(pace * (0.35 + 0.9 * log2(n)) * rng.lognormal(0, 0.3)) for n in sizes)
        note = NOTE if mistaken else None
        yield Answer(row.id, "label", path, person, sum(took), sum(took) + 0.4, stage_seconds=took, note=note)


def ask_controls(people: People, n: int = 12) -> None:
    """Control questions that both have answered: ana is careful, bo takes what is on the list."""
    for i in range(n):
        wrong = i % 2 == 0
        id = people.add_control(i, [1, 2, 3], truth=7 if wrong else 2, wrong=wrong)
        people.answer_control(id, "ana", 7 if wrong else 2, "label", (2.0,), 1.7e9 + i)
        people.answer_control(id, "bo", (1 if i % 4 == 0 else 7) if wrong else 2, "label", (2.0,), 1.7e9 + i)
