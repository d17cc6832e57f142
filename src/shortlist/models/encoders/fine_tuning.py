"""A pretrained encoder and a linear head on it, trained together from the pretrained weights every round.

The head begins where a linear probe ends (Kumar et al. 2022). One that begins at 0 spends most of a short training on
finding the classes: on Banking77 with 1,000 labels, 157 steps at 5e-5 ended at 53%, where the probe alone has 83%.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.encoders.pretrained import Batch, Pretrained, Rows
from shortlist.models.linear.softmax_regression import NEGATIVE_WEIGHT, negative_losses, softmax_regression
from shortlist.models.linear_probe import over_all_classes
from shortlist.models.model import SplitModel, TrainingSet
from shortlist.models.network.architectures import Headed
from shortlist.models.network.training import Shuffled
from shortlist.models.perturbed import module_losses
from shortlist.models.torch_runtime import precision, seeded
from shortlist.probabilities import as_rng
from shortlist.system.files import keep_only, read_made_from, write_npz
from shortlist.system.progress import track
from shortlist.types import Array, Dataset, Ints, Labelled, Predictions, Rng, ShortlistError

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


class Classifier(Headed):
    """A copy of the pretrained encoder, and a head: batches of its kind -> logits (b, k)."""

    def __init__(self, encoder: Pretrained, width: int, k: int, together: int) -> None:
        super().__init__()
        self.encoder, self.together = encoder, together  # items read at once
        self.body = copy.deepcopy(encoder.module)
        self.head = nn.Linear(width, k)

    def embed(self, batch: Batch) -> torch.Tensor:
        return self.encoder.embed(self.body, batch)

    @torch.no_grad()
    def embedded(self, rows: Rows, items: Ints) -> torch.Tensor:
        """(n, F) in the order of the items, read in the order that is best."""
        device = self.head.weight.device
        order, parts = zip(*self.encoder.vectors(self.body, rows, items, self.together, device), strict=True)
        read = torch.cat(parts)
        embeddings = torch.empty_like(read)
        embeddings[torch.from_numpy(np.concatenate(order)).to(device)] = read
        return embeddings


@dataclass(frozen=True)
class _Fitted:
    classifier: Classifier
    learnt_from: TrainingSet


class FineTuning(SplitModel[Rows, _Fitted]):
    """What `Hub(tune="all")` does once it has read a dataset."""

    def __init__(self, encoder: Pretrained, dataset: Dataset, tuning: Tuning, batch: int, device: torch.device) -> None:
        self.encoder, self.tuning, self.device = encoder, tuning, device
        self.together, self.batch = batch, batch * STREAMED
        self._train = encoder.read(dataset.inputs)
        self._test = None if dataset.test_inputs is None else encoder.read(dataset.test_inputs)
        self.width = encoder.width(self._train)

    def __repr__(self) -> str:
        return f"Hub({self.encoder.name!r}, tune='all')"

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        training_set, rng = TrainingSet.of(labelled), as_rng(rng)
        with seeded(int(rng.integers(2**63)), self.device):  # for dropout
            classifier = self._untrained(training_set)
            self._probe(classifier.eval(), training_set)
            self._tune(classifier.train(), training_set, rng)
        self._fitted = _Fitted(classifier.eval(), training_set)

    def perturbed_loss(self, items: Ints) -> Array:
        """One item after the other: what transformers does with a text's mask cannot be done for many at once."""
        classifier, rows = self._learnt().classifier, self._prepared()
        each = track(items, total=len(items), what="perturbed losses, items")
        batches: Iterator[Any] = (rows.batch(np.array([item]), self.device) for item in each)
        return torch.cat([torch.empty(0), *(module_losses(classifier, b, per="batch").cpu() for b in batches)])

    def save(self, folder: Path) -> None:
        """Writes `fine_tuning.npz`, whole or not at all; those of earlier rounds go then, as they can be large."""
        fitted = self._learnt()
        state = {name: value.cpu().numpy() for name, value in fitted.classifier.state_dict().items()}
        write_npz(folder / FILE, {**state, **self._made_from(fitted.learnt_from)})
        keep_only(folder / FILE)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels, weights or settings, or cannot be read."""
        training_set = TrainingSet.of(labelled)
        state = read_made_from(folder / FILE, self._made_from(training_set))
        if state is None:
            return False
        with seeded(0, self.device):  # the weights it is made with are drawn, and then replaced
            classifier = self._untrained(training_set)
        classifier.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()})
        self._fitted = _Fitted(classifier.eval(), training_set)
        return True

    def _untrained(self, training_set: TrainingSet) -> Classifier:
        return Classifier(self.encoder, self.width, len(training_set.classes), self.together).to(self.device)

    def _probe(self, classifier: Classifier, training_set: TrainingSet) -> None:
        """Gives the head what softmax regression on the pretrained vectors finds."""
        items = np.concatenate([training_set.items, training_set.partial])
        embeddings = classifier.embedded(self._prepared(), items)
        mean = embeddings.mean(dim=0)
        # One scale for all features: those that pretraining has switched off stay so.
        scale = (embeddings - mean).square().mean().sqrt().clamp(min=1e-12)
        standard, m = (embeddings - mean) / scale, len(training_set.items)
        inputs, partial = standard[:m], standard[m:]
        weights, intercepts = softmax_regression(inputs, partial, training_set, C=self.tuning.C, steps=PROBED)
        classifier.head.weight.data = weights / scale
        classifier.head.bias.data = intercepts - weights @ mean / scale

    def _tune(self, classifier: Classifier, training_set: TrainingSet, rng: Rng) -> None:
        items = np.concatenate([training_set.items, training_set.partial])
        steps = self.tuning.steps(len(items))
        optimiser = _adamw(classifier)
        rows, shuffled = self._prepared(), Shuffled(np.arange(len(items)), rng)
        for step in track(range(steps), total=steps, what="fine-tuning, batches"):
            at = shuffled.take(min(self.tuning.batch, len(items)))
            for group in optimiser.param_groups:
                group["lr"] = self.tuning.lr * self.tuning.rate(step, steps)
            loss = self._loss(classifier, training_set, at, rows.batch(items[at], self.device))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(classifier.parameters(), 1.0)
            optimiser.step()
        if not all(bool(p.isfinite().all()) for p in classifier.parameters()):
            raise ShortlistError(f"hub.lr: {self.tuning.lr} is too high: fine-tuning gave weights that are not finite")

    def _loss(self, classifier: Classifier, training_set: TrainingSet, at: Ints, batch: Batch) -> torch.Tensor:
        """The mean over the batch; positions from m on are items with a partial label."""
        with precision(self.device):
            logits = classifier(batch).float()
        m = len(training_set.items)
        known, other = at[at < m], at[at >= m] - m
        mask, codes = (torch.from_numpy(a).to(self.device) for a in (at < m, training_set.codes[known]))
        loss = F.cross_entropy(logits[mask], codes, reduction="sum")
        if len(other):
            rejected = torch.from_numpy(training_set.rejected[other]).to(self.device)
            loss = loss + NEGATIVE_WEIGHT * negative_losses(logits[~mask], rejected).sum()
        return loss / len(at)

    def _made_from(self, training_set: TrainingSet) -> dict[str, Any]:
        tuning = np.array(astuple(self.tuning))
        return {"made_from": np.array([self.encoder.digest, training_set.digest]), "tuning": tuning}

    @staticmethod
    @torch.no_grad()
    def _predict(fitted: _Fitted, split: Rows, rows: Ints) -> Predictions:
        embeddings = fitted.classifier.embedded(split, rows)
        return over_all_classes(fitted.classifier.head(embeddings), fitted.learnt_from, embeddings)


def _adamw(classifier: Classifier) -> torch.optim.AdamW:
    """Biases and scales are not drawn to 0."""
    parameters = list(classifier.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups)
