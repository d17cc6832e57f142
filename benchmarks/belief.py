"""A belief of three experts beside a model, on 100,000 items × 300 classes: the graph, a fit, all predictions.

    python benchmarks/belief.py

Features are made up: 256 numbers an item, in clouds that overlap. The bar is for everything together, on two cores.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench import Report, progress
from sklearn.linear_model import LogisticRegression

from shortlist import Arrays, Belief, Given, Labelled, Means, Neighbours, Scikit
from shortlist.models.belief.graph import Cells

N, N_CLASSES, WIDTH, LABELLED, SAMPLE, SPREAD = 100_000, 300, 256, 3_000, 500, 16


def items(seed: int = 0) -> Arrays:
    """Clouds that lie in a few directions, as an encoder's do, and noise in all of them.

    Clouds of noise alone have no neighbours to speak of: in 256 directions all distances are alike.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=N)
    rows = rng.standard_normal((N_CLASSES, WIDTH), np.float32)[labels]
    rows += 0.4 * rng.standard_normal((N, SPREAD), np.float32) @ rng.standard_normal((SPREAD, WIDTH), np.float32)
    rows += 0.5 * rng.standard_normal(rows.shape, np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Arrays(rows, labels, classes=[f"c{i}" for i in range(N_CLASSES)])


def bring(data: Arrays, path: Path, seed: int = 1) -> None:
    """Probabilities that are right more often than not."""
    rng = np.random.default_rng(seed)
    told = rng.random((N, N_CLASSES), np.float32)
    told[np.arange(N), data.labels] += 1.5 * rng.random(N, np.float32)
    columns = {name: told[:, i] for i, name in enumerate(data.classes)}
    pq.write_table(pa.table({"key": list(data.keys), **columns}), path)


def recall(data: Arrays, k: int = 15) -> float:
    """How many of the nearest neighbours are found, of some items. Made-up noise lies about evenly: hard for cells."""
    rows = np.asarray(data.inputs)
    some = np.random.default_rng(2).choice(N, SAMPLE, replace=False)
    products = rows[some] @ rows.T
    products[np.arange(SAMPLE), some] = -2
    true = np.argpartition(-products, k, axis=1)[:, :k]
    found, _ = Cells.of(rows).nearest(rows[some], k, own=some)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(found.tolist(), true.tolist(), strict=True)]))


def main() -> None:
    data = items()
    chosen = np.sort(np.random.default_rng(0).choice(N, LABELLED, replace=False))
    labelled = Labelled(chosen, data.labels[chosen], N_CLASSES)
    seconds: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "given.parquet"
        bring(data, path)
        model = Scikit(LogisticRegression(C=30, max_iter=100, tol=1e-3))
        belief = Belief(model, Neighbours(), Means(), Given(path))
        for what, work in (
            ("prepare: the graph, the file", lambda: belief.prepare(data)),
            (f"fit to {LABELLED:,} labels, six times for the model", lambda: belief.fit(labelled, rng=0)),
            ("predict all items", lambda: sum(len(batch.probs) for batch in belief.predict(np.arange(N)))),
        ):
            progress(what)
            start = time.perf_counter()
            work()
            seconds[what] = time.perf_counter() - start
    start = time.perf_counter()
    model.fit(labelled, rng=0)
    alone = time.perf_counter() - start

    title = f"A belief of three experts beside a probe, {N:,} × {N_CLASSES} ({WIDTH} features, {LABELLED:,} labels)"
    report = Report(title, ("scipy", "scikit-learn"), note="Neighbours, Means and Given beside logistic regression.")
    for what, took in seconds.items():
        report.measured(what, {"s": took})
    report.measured("one fit of the model alone", {"s": alone})
    report.measured("everything", {"s": sum(seconds.values())}, at_most={"s": 60})
    report.measured("of the 15 nearest neighbours are found (97% of 30,094 real paragraphs)", {"%": 100 * recall(data)})
    worth = belief.worth
    told = ", ".join(f"{name} {weight:.2f}" for name, weight in worth["weights"].items())
    report.line(
        "log loss: belief, model alone, nothing known", "{bits:.2f}, {alone:.2f}, {uniform:.2f} bits".format(**worth)
    )
    report.line("weights", told)
    report.finish()


if __name__ == "__main__":
    main()
