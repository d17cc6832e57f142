from __future__ import annotations

import csv
import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from shortlist.campaign.config import describe
from shortlist.models import kernel_svm
from shortlist.models.folds import stratified_folds
from shortlist.models.kernel_svm import FILE, KernelSVM, Machines, sigmoid_kernel
from shortlist.types import Ints, Labelled, Model, Rng, ShortlistError
from tests.cases import torture
from tests.models.toys import Toy, accuracy, all_probs, blobs, digits, log_loss


def rng(seed: int = 0) -> Rng:
    return np.random.default_rng(seed)


def labelled(data: Toy, items: Ints | None = None, n_classes: int | None = None) -> Labelled:
    items = np.arange(len(data.labels)) if items is None else items
    return Labelled(items, data.labels[items], n_classes or int(data.labels.max()) + 1)


def fitted(data: Toy, known: Labelled | None = None, seed: int = 0, **settings: Any) -> KernelSVM:
    model = KernelSVM(**{"gamma": 0.5, **settings})
    model.prepare(data)
    model.fit(known or labelled(data), rng=rng(seed))
    return model


def machines_of(model: KernelSVM) -> Machines:
    assert model._fitted is not None
    return model._fitted.machines


# --- the kernel ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [sparse.csr_array, sparse.csr_matrix])
def test_the_kernel_is_the_same_dense_and_sparse(layout: type[Any]) -> None:
    rows = rng().random((70, 300)) * (rng(1).random((70, 300)) < 0.01)
    rows[:, :20] = rng(2).normal(size=(70, 20))  # frequent columns go another way than rare ones
    left, right = layout(rows[:30]), layout(rows)
    expected = np.tanh(0.7 * (left @ right.T).toarray() - 0.2)
    for a, b in ((left, right), (left.toarray(), right.toarray())):
        kernel = sigmoid_kernel(a, b, gamma=0.7, coef0=-0.2)
        assert kernel.dtype == np.float32
        np.testing.assert_allclose(kernel, expected, atol=1e-5)
    np.testing.assert_allclose(sigmoid_kernel(right, right), np.tanh((right @ right.T).toarray()), atol=1e-5)


def test_the_kernel_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []

    def counted(left: Any, right: Any, gamma: float, coef0: float) -> Any:
        calls.append((left.shape[0], right.shape[0]))
        return sigmoid_kernel(left, right, gamma, coef0)

    monkeypatch.setattr(kernel_svm, "sigmoid_kernel", counted)
    data = blobs()
    model = fitted(data)
    for n in (30, 60, 90):
        model.fit(labelled(data, np.arange(n), 4), rng=rng(n))
        all_probs(model.predict(np.arange(n, 100)))
        all_probs(model.predict_test())
    assert calls == [(100, 100), (200, 100)]


# --- against scikit-learn --------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_class", [(40, 30), (40, 30, 20, 10), (9, 1, 2, 30, 4, 3)])
def test_decision_values_are_those_of_svc(per_class: tuple[int, ...]) -> None:
    data = blobs(per_class)
    model = fitted(data)
    assert model._train is not None
    assert model._test is not None
    svc = SVC(kernel="precomputed", C=10, decision_function_shape="ovo").fit(model._train.kernel, data.labels)
    theirs = svc.decision_function(model._test.kernel)
    machines = machines_of(model)
    ours = machines.decide(model._test.kernel[:, machines.support]).T
    if len(per_class) == 2:  # scikit-learn counts a single pair the other way round
        theirs = -theirs[:, np.newaxis]
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def libsvm(data: Toy, seed: int, gamma: float) -> SVC:
    with warnings.catch_warnings():  # probability=True is deprecated: in tests, and only there, it is the reference
        warnings.simplefilter("ignore", FutureWarning)
        inputs = data.inputs.reshape(len(data.inputs), -1) / (255 if data.kind == "images" else 1)
        return SVC(kernel="sigmoid", C=10, gamma=gamma, probability=True, random_state=seed).fit(inputs, data.labels)


@pytest.mark.parametrize(("data", "gamma"), [(blobs((80, 60, 50, 40)), 0.5), (digits(), 0.01)])
def test_probabilities_are_as_good_as_those_of_libsvm(data: Toy, gamma: float) -> None:
    assert data.test_inputs is not None
    test_inputs = data.test_inputs.reshape(len(data.test_inputs), -1) / (255 if data.kind == "images" else 1)
    ours = all_probs(fitted(data, gamma=gamma).predict_test())
    theirs = [libsvm(data, seed, gamma).predict_proba(test_inputs) for seed in range(3)]
    losses = [log_loss(probs, data.test_labels) for probs in theirs]
    accuracies = [accuracy(probs, data.test_labels) for probs in theirs]
    assert log_loss(ours, data.test_labels) <= 1.05 * max(losses)
    assert accuracy(ours, data.test_labels) >= min(accuracies) - 0.01
    among_them = np.abs(theirs[0] - theirs[1]).mean()  # libsvm's folds are random too
    assert np.abs(ours - theirs[2]).mean() < 2 * among_them


# --- any labelled set ------------------------------------------------------------------------------------------


def test_probabilities_are_float32_rows_that_sum_to_one() -> None:
    probs = all_probs(fitted(digits(), gamma=0.01, batch=100).predict(np.arange(600)))
    assert probs.dtype == np.float32
    assert probs.shape == (600, 10)
    assert (probs >= 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def test_classes_without_labels_get_nothing() -> None:
    data = blobs()
    seen = np.flatnonzero((data.labels == 1) | (data.labels == 3))
    probs = all_probs(fitted(data, labelled(data, seen, 6)).predict_test())
    assert probs.shape == (200, 6)
    assert not probs[:, [0, 2, 4, 5]].any()
    of_seen = np.isin(np.asarray(data.test_labels), [1, 3])
    assert accuracy(probs[of_seen], np.asarray(data.test_labels)[of_seen]) > 0.9


@pytest.mark.parametrize("n", [1, 3])
def test_one_class_is_a_constant(n: int, tmp_path: Path) -> None:
    data = blobs()
    known = Labelled(np.arange(n), np.full(n, 2), 4)
    model = fitted(data, known)
    assert (all_probs(model.predict_test()) == np.eye(4, dtype=np.float32)[2]).all()
    model.save(tmp_path)
    assert model.load(tmp_path, known)
    assert (all_probs(model.predict_test()) == np.eye(4, dtype=np.float32)[2]).all()


def test_two_classes_are_told_apart_the_right_way_round() -> None:
    data = blobs((60, 40))
    probs = all_probs(fitted(data).predict_test())
    assert accuracy(probs, data.test_labels) > 0.9
    assert log_loss(probs, data.test_labels) < 0.3


@pytest.mark.parametrize("items", [[0, 40], [0, 40, 70], [0, 1, 2, 40], [0, 1, 40, 41, 70, 90], list(range(0, 100, 9))])
@pytest.mark.parametrize("folds", [2, 5, 10])
def test_classes_smaller_than_the_folds_break_nothing(items: list[int], folds: int) -> None:
    data = blobs()
    probs = all_probs(fitted(data, labelled(data, np.array(items)), folds=folds).predict_test())
    assert np.isfinite(probs).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def test_folds_spread_every_class_evenly() -> None:
    labels = rng().permutation(np.repeat([0, 3, 4, 9], [23, 5, 1, 12]))
    folds = np.stack(stratified_folds(labels, 5, rng(1)))  # (folds, n)
    assert (folds.sum(axis=0) == 1).all()
    for c, n in zip(*np.unique(labels, return_counts=True), strict=True):
        assert set(folds[:, labels == c].sum(axis=1)) <= {n // 5, n // 5 + 1}


# --- the same again --------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits() -> None:
    data = digits(300)
    first, second, other = (all_probs(fitted(data, seed=seed, gamma=0.01).predict_test()) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_order_of_the_answers_does_not_matter() -> None:
    data = blobs()
    first, second = fitted(data), fitted(data, labelled(data, rng().permutation(100)))
    np.testing.assert_array_equal(all_probs(first.predict_test()), all_probs(second.predict_test()))


def test_a_stream_stays_with_the_fit_it_came_from() -> None:
    data = blobs()
    model = fitted(data, batch=64)
    stream = model.predict_test()
    before = all_probs(stream)
    assert [len(batch.probs) for batch in stream] == [64, 64, 64, 8]
    model.fit(labelled(data, np.arange(60), 4), rng=rng())
    np.testing.assert_array_equal(all_probs(stream), before)


def test_what_was_saved_predicts_the_same_bits(tmp_path: Path) -> None:
    data = digits(300)
    known = labelled(data)
    model = fitted(data, known, gamma=0.01)
    model.save(tmp_path / "rounds" / "001")
    fresh = KernelSVM(gamma=0.01)
    fresh.prepare(data)
    assert fresh.load(tmp_path / "rounds" / "001", known)
    np.testing.assert_array_equal(all_probs(fresh.predict_test()), all_probs(model.predict_test()))
    np.testing.assert_array_equal(all_probs(fresh.predict(np.arange(9))), all_probs(model.predict(np.arange(9))))
    assert [path.name for path in (tmp_path / "rounds" / "001").iterdir()] == [FILE]


def test_what_does_not_fit_is_not_loaded(tmp_path: Path) -> None:
    data = blobs()
    known = labelled(data)
    model = fitted(data, known)
    assert not model.load(tmp_path, known)  # nothing there
    model.save(tmp_path)
    before = all_probs(model.predict_test())
    assert not model.load(tmp_path, labelled(data, np.arange(90), 4))  # other labels
    assert not KernelSVM(C=1, gamma=0.5).load(tmp_path, known)  # other settings
    for damage in (b"", b"PK\x03\x04", (tmp_path / FILE).read_bytes()[:500]):
        (tmp_path / FILE).write_bytes(damage)
        assert not model.load(tmp_path, known)
    np.savez(tmp_path / FILE, classes=np.arange(3))
    assert not model.load(tmp_path, known)
    np.testing.assert_array_equal(all_probs(model.predict_test()), before)  # left as it was


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs()
    model = fitted(data)
    model.save(tmp_path)
    old = (tmp_path / FILE).read_bytes()

    def disk_full(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(np, "savez", disk_full)
    with pytest.raises(OSError, match="no space left"):
        model.save(tmp_path)
    assert (tmp_path / FILE).read_bytes() == old


# --- what it says ----------------------------------------------------------------------------------------------


def test_embeddings_are_the_dense_inputs() -> None:
    data = blobs()
    (batch,) = fitted(data).predict(np.array([5, 3]))
    np.testing.assert_array_equal(batch.embeddings, data.inputs[[5, 3]])
    thin = Toy("features", sparse.csr_array(data.inputs), data.labels)
    (batch,) = fitted(thin).predict(np.array([5, 3]))
    assert batch.embeddings is None


def test_what_it_cannot_do_it_says() -> None:
    data = blobs()
    model: Model = KernelSVM()
    with pytest.raises(ShortlistError, match="call prepare"):
        model.fit(labelled(data), rng=rng())
    model.prepare(Toy("features", data.inputs, data.labels))
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(3))
    with pytest.raises(ShortlistError, match="no test split"):
        model.predict_test()
    with pytest.raises(ShortlistError, match="cannot learn from no labels"):
        model.fit(Labelled(np.arange(0), np.arange(0), 4), rng=rng())
    with pytest.raises(ShortlistError, match=r"KernelSVM\(C=10.0.*\) has no perturbed loss"):
        model.perturbed_loss(np.arange(3))


@pytest.mark.parametrize(("setting", "value"), [("C", 0), ("C", float("nan")), ("folds", 1), ("batch", 0)])
def test_settings_that_make_no_sense_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(ShortlistError, match=f"kernel_svm.{setting}: must be (above 0|at least [12]), not"):
        KernelSVM(**{setting: value})


def test_a_campaign_describes_it_by_its_settings() -> None:
    settings = {"C": 10.0, "gamma": 1.0, "coef0": 0.0, "folds": 5, "batch": 2048}
    assert describe(KernelSVM()) == {"name": "kernel_svm", **settings}


# --- the paper's data ------------------------------------------------------------------------------------------


def r52() -> Toy:
    root = os.environ.get("SHORTLIST_DATA")
    if not root or not (Path(root) / "r52").is_dir():
        pytest.skip("set SHORTLIST_DATA to a folder that holds r52/train.csv and r52/test.csv")
    splits = {}
    for split in ("train", "test"):
        with (Path(root) / "r52" / f"{split}.csv").open(newline="", encoding="utf-8") as file:
            splits[split] = list(csv.DictReader(file))
    code = {name: i for i, name in enumerate(sorted({row["label"] for row in splits["train"]}))}
    texts = {split: [row["text"] for row in rows] for split, rows in splits.items()}
    labels = {split: np.array([code[row["label"]] for row in rows]) for split, rows in splits.items()}
    return Toy("texts", texts["train"], labels["train"], texts["test"], labels["test"], name="r52")


@torture  # tests/paper/test_r52.py has the accuracy in its last round
@pytest.mark.data
def test_r52_reaches_93_percent() -> None:
    data = r52()
    items = rng().permutation(len(data.labels))[:6300]
    probs = all_probs(fitted(data, labelled(data, items, 52), gamma=1.0).predict_test())
    assert accuracy(probs, data.test_labels) >= 0.93
    assert log_loss(probs, data.test_labels) < 0.35


COUNT_BITS = """
import sys
import numpy as np
from scipy import sparse
from shortlist.models.kernel_svm import KernelSVM
from shortlist.system.digests import digest
from shortlist.types import Labelled

rng = np.random.default_rng(0)
present = rng.random((1500, 400)) < np.linspace(0.001, 0.4, 400)
dense = np.abs(rng.standard_normal((1500, 400))).astype(np.float32) * present
labels = dense[:, -12:].argmax(axis=1)
for inputs in (dense, sparse.csr_matrix(dense)):
    model = KernelSVM(C=10, gamma=0.05)
    model.prepare(type("Data", (), dict(name="d", kind="features", inputs=inputs, test_inputs=None))())
    model.fit(Labelled(np.arange(300), labels[:300], n_classes=12), rng=np.random.default_rng(1))
    print(digest(model._train.kernel), digest(np.concatenate([b.probs for b in model.predict(np.arange(1500))])))
"""


def test_the_same_bits_on_any_number_of_blas_threads() -> None:
    def bits(threads: int) -> str:
        count = {name: str(threads) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        command = [sys.executable, "-c", COUNT_BITS]
        return subprocess.run(command, env=os.environ | count, capture_output=True, text=True, check=True).stdout

    one = bits(1)
    assert len(one.split()) == 4
    assert bits(2) == one
