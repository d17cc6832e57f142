"""Small campaigns for the real app, some of them with rounds behind them."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np

from shortlist.datasets.builtin.glyphs import Glyphs
from shortlist.recipes.build import open_campaign
from shortlist.types import Answer
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.people.people_db import Role
from tests.web.serving import FAST

PASSWORD = "a long password"
CLASSES, ITEMS, SIZE = 30, 400, 12
GLYPHS = f'{{ name = "glyphs", classes = {CLASSES}, items = {ITEMS}, size = {SIZE} }}'
LETTERS = f"""
name = "letters"
initial = 100
budget = 80
annotator = "people"
model = "scikit"
dataset = {GLYPHS}
query = {{ name = "candidate_set", n_cal = 60 }}
acquisition = "random"
"""
SMALL_ROUNDS = f"""
name = "small-rounds"
initial = 6
budget = 8
ahead = 2
annotator = "people"
dataset = {GLYPHS}
query = {{ name = "candidate_set", n_cal = 2 }}
acquisition = "entropy"
[model]
name = "scikit"
estimator = "RandomForestClassifier(n_estimators=1500)"  # slow enough to look at the page while it trains
"""


def written(folder: Path, toml: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "campaign.toml").write_text(toml)
    return folder


@cache
def truths() -> dict[str, str]:
    """Item's key -> class, of the glyphs."""
    glyphs = Glyphs(classes=CLASSES, items=ITEMS, size=SIZE)
    return {key: glyphs.classes[label] for key, label in zip(glyphs.keys, glyphs.labels.tolist(), strict=True)}


def letters(folder: Path) -> Path:
    """Two rounds answered by somebody who knows; the third asks its calibration questions, with lists."""
    written(folder, LETTERS)
    with open_campaign(folder) as campaign:
        labels = np.asarray(campaign.settings.dataset.labels)
        while True:
            asked = campaign.questions()
            if asked[0].round == 3:
                return folder
            campaign.record(Answer(q.id, "label", q.path_to(int(labels[q.item])), "ana") for q in asked)


def add_person(folder: Path, name: str, role: Role = "annotator") -> str:
    """A person with a session; its token."""
    with closing(People(folder, passwords=Passwords(**FAST))) as people:
        if people.person(name) is None:
            people.add(name, role, PASSWORD)
        return people.sign_in(name, PASSWORD, "127.0.0.1")
