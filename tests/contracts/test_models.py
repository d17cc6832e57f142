"""Every model of the package that needs nothing downloaded meets the checks that are shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import shortlist
from shortlist.checks import check_model, yield_checks
from shortlist.datasets.arrays import Arrays
from shortlist.models.belief.belief import Belief
from shortlist.models.belief.means import Means
from shortlist.models.belief.names import Names
from shortlist.models.belief.neighbours import Neighbours
from shortlist.models.hub import Hub
from shortlist.models.kernel_svm import KernelSVM
from shortlist.models.linear_probe import LinearProbe
from shortlist.models.network.network import Network
from shortlist.models.scikit import Scikit
from shortlist.types import ShortlistError
from tests.backends import HAS_TORCH
from tests.models.pictures import stripes
from tests.models.toys import blobs


def tiny_hub(folder: Path) -> Hub:
    from tests.models.networks import tiny_vit

    return Hub(str(tiny_vit(folder)), cache=folder / "cache", device="cpu")


BUILDERS: dict[str, Callable[[Path], Any]] = {
    "KernelSVM": lambda folder: KernelSVM(),
    "Scikit": lambda folder: Scikit(LogisticRegression()),
    "Scikit on an encoder": lambda folder: Scikit(encoder="package:wordllama"),
    "Belief": lambda folder: Belief(Scikit(), Neighbours(k=5), Means()),
    "Belief on an encoder": lambda folder: Belief(Scikit(encoder="package:wordllama"), Neighbours(), Names()),
    "Belief in a network": lambda folder: Belief(BUILDERS["Network"](folder), Neighbours()),
    "LinearProbe": lambda folder: LinearProbe(),
    "Network": lambda folder: Network(
        training={"base": "fast", "batch": 8, "epochs": 1, "min_steps": 3, "mix_up": 0}, width=4, device="cpu"
    ),
    "Hub": tiny_hub,
}
NEED_TORCH = {"LinearProbe", "Network", "Hub", "Belief in a network"}
OF_IMAGES = {"Network", "Hub", "Belief in a network"}
OF_TEXTS = {"Scikit on an encoder", "Belief on an encoder"}


def clouds() -> Arrays:
    """Items of four classes in a random order, and a class without any example."""
    toy = blobs((20, 16, 12, 6), n_test=20)
    whole = Arrays(
        toy.inputs.astype(np.float32),
        toy.labels,
        classes=["a", "b", "c", "d", "none"],
        test_inputs=None if toy.test_inputs is None else toy.test_inputs.astype(np.float32),
        test_labels=toy.test_labels,
    )
    return whole.subset(np.random.default_rng(0).permutation(len(whole)))


def requests() -> Arrays:
    """Texts of the same classes."""
    words = [["card", "bank"], ["rain", "sun"], ["pasta", "soup"], ["train", "bus"]]
    toy = clouds()
    texts = [" ".join(["about", words[cls][i % 2], f"number {i}"]) for i, cls in enumerate(toy.labels)]
    return Arrays(texts, toy.labels, classes=toy.classes, test_inputs=texts[:20], test_labels=toy.labels[:20])


def test_every_model_has_a_builder() -> None:
    homes = [name for name, home in shortlist.HOMES.items() if home.startswith("shortlist.models.")]
    others = {name for name in homes if not hasattr(getattr(shortlist, name), "predict")}
    beside = {"Neighbours", "Means", "Names", "Given"}
    assert others == {"Simclr", "Encoder"} | beside  # they make features and predict nothing, or stand beside a model
    assert set(homes) - others == {name.partition(" ")[0] for name in BUILDERS}


@pytest.mark.parametrize("name", BUILDERS)
def test_meets_the_checks_that_are_shipped(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    if name in OF_TEXTS:
        check_model(BUILDERS[name](tmp_path), requests())
        return
    if name in NEED_TORCH and not HAS_TORCH:
        pytest.skip("torch is not installed")
    check_model(BUILDERS[name](tmp_path), stripes(40, 20, side=8) if name in OF_IMAGES else clouds())


class Forgetful(Scikit):
    """Predicts one class too few."""

    def predict(self, items: Any) -> Any:
        return [type(batch)(batch.probs[:, 1:]) for batch in super().predict(items)]


def test_a_broken_model_is_told_what_is_wrong() -> None:
    with pytest.raises(AssertionError, match=r"^Forgetful: predictions of \(54, 5\) are needed"):
        check_model(Forgetful(LogisticRegression()), clouds())
    with pytest.raises(ShortlistError, match="a model is checked on a dataset"):
        list(yield_checks(KernelSVM()))
