"""A small world in which a test can say everything a model will say."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.acquisition.entropy import Entropy
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import resolve
from shortlist.campaign.storage.folder import Asked, Folder
from shortlist.campaign.storage.store import QuestionRow, Store
from shortlist.datasets.arrays import Arrays
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Answer, Array, Dataset, Ints, Labelled, Predictions, Question, Rng, Round, Stream

Says = Callable[[Labelled], Any]


class Fixed:
    """A model that says what it was told to: (N, L) numbers by position, or a function of what it was taught."""

    def __init__(self, says: Any, test: Any = None, embeddings: Any = None) -> None:
        self.says: Says = says if callable(says) else lambda labelled: says
        self.test, self.embeddings = test, embeddings
        self.taught: list[Labelled] = []
        self.probs: Any = None

    def spec(self) -> dict[str, str]:
        return {"name": "fixed"}

    def prepare(self, dataset: Dataset) -> None: ...

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        self.taught.append(labelled)
        self.probs = np.asarray(self.says(labelled), np.float32)

    def predict(self, items: Ints) -> Stream:
        parts = [items[i : i + 7] for i in range(0, len(items), 7)]
        z = self.embeddings
        return [Predictions(self.probs[part], None if z is None else z[part]) for part in parts]

    def predict_test(self) -> Stream:
        return [Predictions(np.asarray(self.test, np.float32))]

    def perturbed_loss(self, items: Ints) -> Array:
        raise NotImplementedError

    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path, labelled: Labelled) -> bool:
        return False


def learning(truth: Ints, n_classes: int, seed: int = 0) -> Says:
    """A model that gets surer of the truth with every label."""

    def says(labelled: Labelled) -> Any:
        rng = np.random.default_rng([seed, len(labelled.items)])
        logits = rng.normal(size=(len(truth), n_classes))
        logits[np.arange(len(truth)), truth] += 0.5 + 3 * len(labelled.items) / len(truth)
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    return says


def data(n: int = 40, n_classes: int = 5, *, seed: int = 0, test: int = 20, **fields: Any) -> Arrays:
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    return Arrays(
        np.arange(n, dtype=np.float64)[:, None],
        labels,
        **{
            "classes": [f"c{i}" for i in range(n_classes)],
            "keys": [f"item{i}" for i in range(n)],
            "test_inputs": np.zeros((test, 1)) if test else None,
            "test_labels": rng.integers(n_classes, size=test) if test else None,
            **fields,
        },
    )


def campaign(folder: Path, dataset: Arrays | None = None, **settings: Any) -> Campaign:
    """A campaign over `data()` whose model learns; any setting can be given."""
    dataset = dataset or data()
    n_classes = len(dataset.classes)
    test = None if dataset.test_labels is None else np.full((len(dataset.test_labels), n_classes), 1 / n_classes)
    return Campaign(
        folder,
        dataset=dataset,
        **{
            "model": Fixed(learning(dataset.labels, n_classes), test),
            "query": CandidateSet(n_cal=3),
            "acquisition": Entropy(),
            "initial": 8,
            "budget": 8,
            "rounds": 4,
            **settings,
        },
    )


def run(folder: Path, dataset: Arrays | None = None, **settings: Any) -> list[Round]:
    dataset = dataset or data()
    with campaign(folder, dataset, **settings) as going:
        return list(going.run(Simulated(dataset.labels)))


def answers(questions: Sequence[Question], labels: Any) -> list[Answer]:
    return list(Simulated(labels).answer(questions))


def work(going: Campaign) -> None:
    """Go on until answers are needed."""
    while going.advance():
        pass


def asked_about(folder: Path, round: int) -> list[int]:
    return sorted(q.item for q in rows(folder) if q.round == round and q.state == "open")


def rows(folder: Path) -> list[QuestionRow]:
    with Store(folder / "campaign.db", read_only=True) as store:
        return store.questions()


def snapshot(folder: Path) -> dict[str, Any]:
    """All that must be equal bit for bit, however often the process was killed."""
    with Store(folder / "campaign.db", read_only=True) as store:
        kept = {
            "labels": resolve(store.heard(0), store.partly_answered()).labels,
            "questions": store.questions(),
            "answers": [dataclasses.replace(a, at="") for a in store.answers()],
            "rounds": [
                dataclasses.replace(r, result=r.result and dataclasses.replace(r.result, seconds=0.0))
                for r in store.rounds()
            ],
            "events": [e for e in store.events() if e[1] != "ending"],  # an end that was moved leaves its trace
        }
    for path in sorted(folder.glob("rounds/*/asked.npz")):
        kept[path.parent.name] = dict(_bytes(Asked.read(path)))
    return kept


def _bytes(asked: Asked) -> Iterator[tuple[str, bytes]]:
    for field in dataclasses.fields(asked):
        yield field.name, np.asarray(getattr(asked, field.name)).tobytes()


def hashes(folder: Path) -> dict[str, str]:
    """Every file and what is in it; SQLite's index into its log (and a log with nothing in it) says nothing."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.endswith("-shm")]
    whole = {str(p.relative_to(folder)): p.read_bytes() for p in files}
    return {name: hashlib.sha256(text).hexdigest() for name, text in whole.items() if text or "-wal" not in name}


def asked(folder: Path, round: int) -> Asked:
    return Asked.read(Folder(folder).asked(round))
