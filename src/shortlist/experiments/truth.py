"""`truth.json`: how many shortlists held the true class, where the simulated annotator says something else.

A campaign knows only what it was told, so this is worked out while the dataset is at hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from shortlist import measures
from shortlist.types import Dataset, Ints

FILE = "truth.json"


def note_truth(folder: Path, dataset: Dataset, told: Ints) -> None:
    """Write down the coverage of the true classes round by round, unless the annotator says nothing else."""
    if np.array_equal(told, dataset.labels):
        return
    truth = {key: dataset.classes[label] for key, label in zip(dataset.keys, dataset.labels.tolist(), strict=True)}
    fresh = folder / f"{FILE}.new"
    fresh.write_text(json.dumps(measures.coverages(folder, truth)) + "\n", "utf-8")
    fresh.replace(folder / FILE)


def true_coverage(folder: Path) -> dict[int, float]:
    """%, by round; nothing where the annotator told the truth."""
    path = folder / FILE
    return {int(round): share for round, share in json.loads(path.read_text("utf-8")).items()} if path.exists() else {}
