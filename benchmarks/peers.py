"""What a user would take instead: the same methods of scikit-activeml, small-text and modAL.

Each function here makes a call of a peer's own public query, on arrays laid out as that peer wants them, with a
classifier that answers with probabilities and embeddings it was given: the acquisition alone is timed. Labelled items
follow the pool, so a pick below n is a position in the pool.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from alone import Work
from arrays import Arrays, Floats
from skactiveml.base import SkactivemlClassifier

SEED = 0


# --- scikit-activeml -------------------------------------------------------------------------------------------


class Given(SkactivemlClassifier):  # type: ignore[misc]
    """Answers with what it was given: probabilities, or probabilities and embeddings."""

    def __init__(self, answer: Any = None, missing_label: float = np.nan) -> None:
        super().__init__(missing_label=missing_label)
        self.answer = answer

    def fit(self, X: Any, y: Any) -> Given:
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.answer


def _nothing(n: int) -> tuple[Floats, Floats]:
    """Inputs that only say how many items there are, none of them labelled: the classifier has the rest."""
    return np.zeros((n, 1)), np.full(n, np.nan)


def _labels(arrays: Arrays) -> Floats:
    """(n + m,) not known in the pool, known after it."""
    return np.concatenate([np.full(arrays.size, np.nan), np.zeros(len(arrays.labelled_embeddings))])


def activeml_badge(arrays: Arrays, n: int) -> Work:
    """By its source the origin stays a centre (D² is never above ‖g‖²): as much work as ours, other weights."""
    from skactiveml.pool import Badge

    items, labels = _nothing(arrays.size)
    classifier = Given((arrays.probs, arrays.embeddings))
    query = Badge(random_state=SEED).query
    return partial(query, items, labels, classifier, fit_clf=False, batch_size=n)


def activeml_uncertainty(arrays: Arrays, n: int, method: str) -> Work:
    from skactiveml.pool import UncertaintySampling

    items, labels = _nothing(arrays.size)
    query = UncertaintySampling(method=method, random_state=SEED).query
    return partial(query, items, labels, Given(arrays.probs), fit_clf=False, batch_size=n)


def activeml_core_set(arrays: Arrays, n: int) -> Work:
    from skactiveml.pool import CoreSet

    items = np.concatenate([arrays.embeddings, arrays.labelled_embeddings])
    return partial(CoreSet(random_state=SEED).query, items, _labels(arrays), batch_size=n)


def activeml_typi_clust(arrays: Arrays, n: int, algorithm: str = "KMeans") -> Work:
    """As many neighbours as ours, 20; its clusters are the labelled items and the picks together, as ours are."""
    from skactiveml.pool import TypiClust
    from sklearn import cluster

    items = np.concatenate([arrays.features, arrays.labelled_features])
    method = TypiClust(random_state=SEED, k=20, cluster_algo=getattr(cluster, algorithm))
    return partial(method.query, items, _labels(arrays), batch_size=n)


def activeml_prob_cover(arrays: Arrays, n: int) -> Work:
    from skactiveml.pool import ProbCover

    items, labels = np.concatenate([arrays.features, arrays.labelled_features]), _labels(arrays)
    warnings.filterwarnings("ignore", message="The maximum purity was -1")  # one delta: there is nothing to choose

    def query() -> Any:  # a new one each time: it remembers its distances
        return ProbCover(random_state=SEED, deltas=[arrays.delta]).query(items, labels, batch_size=n)

    return query


# --- small-text ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """A classifier of small-text: datasets are arrays of item numbers."""

    arrays: Arrays

    def predict_proba(self, dataset: Any) -> Any:
        return self.arrays.probs

    def embed(self, dataset: Any, return_proba: bool = False, pbar: Any = None) -> Any:
        return (self.arrays.embeddings, self.arrays.probs) if return_proba else self.arrays.embeddings


def _small_text(strategy: Any, arrays: Arrays, n: int, labelled: int = 0, **given: Any) -> Work:
    items, known = np.arange(arrays.size), np.arange(arrays.size, arrays.size + labelled)
    dataset = np.arange(arrays.size + labelled)
    return partial(strategy.query, Answers(arrays), dataset, items, known, np.zeros(labelled), n=n, **given)


def small_text_badge(arrays: Arrays, n: int) -> Work:
    """By its source it embeds −p ⊗ h, without the one-hot: as much work as ours, other gradients."""
    from small_text.integrations.pytorch.query_strategies import BADGE

    warnings.filterwarnings("ignore", message="kmeans_plusplus returned identical")
    return _small_text(BADGE(num_classes=arrays.probs.shape[1]), arrays, n, pbar=None)


def small_text_uncertainty(arrays: Arrays, n: int, method: str) -> Work:
    import small_text

    return _small_text(getattr(small_text, method)(), arrays, n)


def small_text_core_set(arrays: Arrays, n: int) -> Work:
    from small_text import GreedyCoreset

    warnings.filterwarnings("ignore", message="Default distance metric has changed")  # it is named here
    rows = np.concatenate([arrays.embeddings, arrays.labelled_embeddings])
    strategy = GreedyCoreset(distance_metric="euclidean", normalize=False)
    return _small_text(strategy, arrays, n, len(arrays.labelled_embeddings), embeddings=rows)


def small_text_k_means(arrays: Arrays, n: int) -> Work:
    from small_text import EmbeddingKMeans

    return _small_text(EmbeddingKMeans(normalize=False), arrays, n, embeddings=arrays.features)


# --- modAL -----------------------------------------------------------------------------------------------------


def modal_uncertainty(arrays: Arrays, n: int, method: str) -> Work:
    from modAL import uncertainty

    sample, items = getattr(uncertainty, method), np.zeros((arrays.size, 1))
    return lambda: sample(Answers(arrays), items, n_instances=n)[0]


Peers: TypeAlias = dict[str, Any]  # name → (arrays, n) → call

BADGE: Peers = {"scikit-activeml": activeml_badge, "small-text": small_text_badge}
CORE_SET: Peers = {"scikit-activeml": activeml_core_set, "small-text GreedyCoreset": small_text_core_set}
TYPI_CLUST: Peers = {
    "scikit-activeml": activeml_typi_clust,
    "scikit-activeml with MiniBatchKMeans": partial(activeml_typi_clust, algorithm="MiniBatchKMeans"),
    "small-text EmbeddingKMeans (another method)": small_text_k_means,
}
PROB_COVER: Peers = {"scikit-activeml": activeml_prob_cover}
UNCERTAINTY: dict[str, Peers] = {
    ours: {
        "scikit-activeml": partial(activeml_uncertainty, method=activeml),
        "small-text": partial(small_text_uncertainty, method=small),
        "modAL": partial(modal_uncertainty, method=modal),
    }
    for ours, activeml, small, modal in (
        ("Entropy", "entropy", "PredictionEntropy", "entropy_sampling"),
        ("Margin", "margin_sampling", "BreakingTies", "margin_sampling"),
        ("LeastConfident", "least_confident", "LeastConfidence", "uncertainty_sampling"),
    )
}
