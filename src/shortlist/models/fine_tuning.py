"""A pretrained encoder and a linear head on it, trained together from the pretrained weights every round.

The head begins where a linear probe ends (Kumar et al. 2022). One that begins at 0 spends most of a short training on
finding the classes: on Banking77 with 1,000 labels, 157 steps at 5e-5 ended at 53%, where the probe alone has 83%.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.datasets.progress import track
from shortlist.models import npz
from shortlist.models.encoder import Encoder, Rows, precision
from shortlist.models.lesson import Lesson
from shortlist.models.linear_probe import over_all_classes
from shortlist.models.negative_learning import WEIGHT, negative_losses
from shortlist.models.perturbed_module import perturbed_losses
from shortlist.models.readers import Batch
from shortlist.models.seeding import seeded
from shortlist.models.softmax_regression import softmax_regression
from shortlist.models.stream import Batches
from shortlist.types import Array, Dataset, Ints, Labelled, Predictions, Rng, ShortlistError, Stream

FILE = "fine_tuning.npz"
STREAMED = 16  # batches that are sorted by length together when predicting
WARM_UP = 0.1  # share of the steps in which the rate rises
DECAY = 0.01
PROBED = 200  # steps of the probe


@dataclass(frozen=True)
class Tuning:
    epochs: int
    min_steps: int  # few labels want as many steps as many do
    lr: float  # the highest
    batch: int
    C: float  # of the probe that the head begins with

    def steps(self, n: int) -> int:
        """
        >>> Tuning(epochs=10, min_steps=300, lr=5e-5, batch=32, C=0.3).steps(3200)
        1000
        """
        return max(self.min_steps, math.ceil(self.epochs * n / self.batch))

    def rate(self, step: int, steps: int) -> float:
        """As a share of `lr`: up in a line, down along half a cosine.

        >>> [round(Tuning(1, 0, 5e-5, 32, 0.3).rate(step, 100), 2) for step in (0, 9, 55, 99)]
        [0.1, 1.0, 0.48, 0.0]
        """
        rise = max(1, round(WARM_UP * steps))
        return (step + 1) / rise if step < rise else (1 + math.cos(math.pi * (step + 1 - rise) / (steps - rise))) / 2


class Classifier(nn.Module):
    """A copy of the pretrained encoder, and a head: batches of its kind -> logits (b, k)."""

    def __init__(self, encoder: Encoder, width: int, k: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.body = copy.deepcopy(encoder.module)
        self.head = nn.Linear(width, k)

    def embed(self, batch: Batch) -> torch.Tensor:
        return self.encoder.embed(self.body, batch)

    def forward(self, batch: Batch) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(batch))
        return logits


@dataclass(frozen=True)
class _Fitted:
    classifier: Classifier
    classes: Ints  # (k,)
    n_classes: int
    learnt_from: str  # a digest


class FineTuning:
    """What `Hub(tune="all")` does once it has read a dataset."""

    def __init__(self, encoder: Encoder, dataset: Dataset, tuning: Tuning, batch: int, device: torch.device) -> None:
        self.encoder, self.tuning, self.batch, self.device = encoder, tuning, batch, device
        self.train = encoder.read(dataset.inputs)
        self.test = None if dataset.test_inputs is None else encoder.read(dataset.test_inputs)
        self.width = encoder.width(self.train)
        self._fitted: _Fitted | None = None

    def forget(self) -> None:
        """As if never fitted; what was read stays."""
        self._fitted = None

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        lesson = Lesson.of(labelled)
        with seeded(int(rng.integers(2**63)), self.device):  # for dropout
            classifier = self._untrained(lesson)
            self._probe(classifier.eval(), lesson)
            self._train(classifier.train(), lesson, rng)
        self._fitted = _Fitted(classifier.eval(), lesson.classes, lesson.n_classes, lesson.digest)

    def predict(self, items: Ints) -> Stream:
        return self._stream(items, self.train)

    def predict_test(self) -> Stream:
        if self.test is None:
            raise ShortlistError(f"{self.encoder.name!r} has no test items to predict: the dataset has no test split")
        return self._stream(np.arange(len(self.test)), self.test)

    def perturbed_loss(self, items: Ints) -> Array:
        """One item after the other: what transformers does with a text's mask cannot be done for many at once."""
        classifier = self._learnt().classifier
        one_by_one = track(items, total=len(items), what="perturbed losses, items")
        batches: Iterator[Any] = (self.train.batch(np.array([item]), self.device) for item in one_by_one)
        return torch.cat([torch.empty(0), *(perturbed_losses(classifier, b, per="batch").cpu() for b in batches)])

    def save(self, folder: Path) -> None:
        """Writes `fine_tuning.npz`, whole or not at all; those of earlier rounds go then, as they can be large."""
        fitted = self._learnt()
        state = {name: value.cpu().numpy() for name, value in fitted.classifier.state_dict().items()}
        npz.write(folder / FILE, {**state, **self._made_from(fitted.learnt_from)})
        npz.keep_only(folder / FILE)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels, weights or settings, or cannot be read."""
        lesson = Lesson.of(labelled)
        kept = npz.read_made_from(folder / FILE, self._made_from(lesson.digest))
        if kept is None:
            return False
        with seeded(0, self.device):  # the weights it is made with are drawn, and then replaced
            classifier = self._untrained(lesson)
        classifier.load_state_dict({name: torch.from_numpy(value) for name, value in kept.items()})
        self._fitted = _Fitted(classifier.eval(), lesson.classes, lesson.n_classes, lesson.digest)
        return True

    # --- inside ------------------------------------------------------------------------------------------------

    def _untrained(self, lesson: Lesson) -> Classifier:
        return Classifier(self.encoder, self.width, len(lesson.classes)).to(self.device)

    def _probe(self, classifier: Classifier, lesson: Lesson) -> None:
        """Gives the head what softmax regression on the pretrained vectors finds."""
        items = np.concatenate([lesson.items, lesson.partial])
        embeddings = _embedded(classifier, self.train, self.batch, self.device, items)
        mean = embeddings.mean(dim=0)
        # One scale for all features: those that pretraining has switched off stay so.
        scale = (embeddings - mean).square().mean().sqrt().clamp(min=1e-12)
        standard, m = (embeddings - mean) / scale, len(lesson.items)
        codes, rejected = (torch.from_numpy(a).to(self.device) for a in (lesson.codes, lesson.rejected))
        weights, intercepts = softmax_regression(
            standard[:m],
            codes,
            len(lesson.classes),
            C=self.tuning.C,
            steps=PROBED,
            partial=standard[m:],
            rejected=rejected,
        )
        classifier.head.weight.data = weights / scale
        classifier.head.bias.data = intercepts - weights @ mean / scale

    def _train(self, classifier: Classifier, lesson: Lesson, rng: Rng) -> None:
        items = np.concatenate([lesson.items, lesson.partial])
        steps = self.tuning.steps(len(items))
        optimiser = _adamw(classifier)
        batches = track(_shuffled(len(items), self.tuning.batch, steps, rng), total=steps, what="fine-tuning, batches")
        for step, at in enumerate(batches):
            for group in optimiser.param_groups:
                group["lr"] = self.tuning.lr * self.tuning.rate(step, steps)
            loss = self._loss(classifier, lesson, at, self.train.batch(items[at], self.device))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
            optimiser.step()
        if not all(bool(p.isfinite().all()) for p in classifier.parameters()):
            raise ShortlistError(
                f"hub.lr: {self.tuning.lr} is too high: fine-tuning led to weights that are not finite"
            )

    def _loss(self, classifier: Classifier, lesson: Lesson, at: Ints, batch: Batch) -> torch.Tensor:
        """The mean over the batch; positions from m on are items with a partial label."""
        with precision(self.device):
            logits = classifier(batch).float()
        known, other = at[at < len(lesson.items)], at[at >= len(lesson.items)] - len(lesson.items)
        mask = torch.from_numpy(at < len(lesson.items)).to(self.device)
        loss = F.cross_entropy(logits[mask], torch.from_numpy(lesson.codes[known]).to(self.device), reduction="sum")
        if len(other):
            rejected = torch.from_numpy(lesson.rejected[other]).to(self.device)
            loss = loss + WEIGHT * negative_losses(logits[~mask], rejected).sum()
        return loss / len(at)

    def _made_from(self, learnt_from: str) -> dict[str, Any]:
        tuning = np.array(astuple(self.tuning))
        return {"made_from": np.array([self.encoder.digest, learnt_from]), "tuning": tuning}

    def _learnt(self) -> _Fitted:
        if self._fitted is None:
            raise ShortlistError(f"{self.encoder.name!r} has learnt nothing yet; call fit(labelled) first")
        return self._fitted

    def _stream(self, items: Ints, rows: Rows) -> Stream:
        # The stream holds on to this fit, so it says the same even after the next one.
        return Batches(items, self.batch * STREAMED, partial(_predict, self._learnt(), rows, self.batch, self.device))


@torch.no_grad()
def _predict(fitted: _Fitted, rows: Rows, batch: int, device: torch.device, items: Ints) -> Predictions:
    embeddings = _embedded(fitted.classifier, rows, batch, device, items)
    return over_all_classes(fitted.classifier.head(embeddings), fitted.classes, fitted.n_classes, embeddings)


@torch.no_grad()
def _embedded(classifier: Classifier, rows: Rows, batch: int, device: torch.device, items: Ints) -> torch.Tensor:
    """(n, F) in the order of the items, read in the order that is best."""
    order = rows.order(items)
    parts = [items[order[start : start + batch]] for start in range(0, len(items), batch)]
    with precision(device):
        read = torch.cat([classifier.embed(rows.batch(part, device)) for part in parts])
    embeddings = torch.empty_like(read)
    embeddings[torch.from_numpy(order).to(device)] = read
    return embeddings


def _adamw(classifier: Classifier) -> torch.optim.AdamW:
    """Biases and scales are not drawn to 0."""
    parameters = list(classifier.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups)


def _shuffled(n: int, batch: int, steps: int, rng: Rng) -> Iterator[Ints]:
    """Positions of one batch after the other, every one full: an epoch's last items wait for the next epoch."""
    waiting = np.empty(0, np.int64)
    for _ in range(steps):
        while len(waiting) < min(batch, n):
            waiting = np.concatenate([waiting, rng.permutation(n)])
        yield waiting[:batch]
        waiting = waiting[batch:]
