"""The closed form against the definition, parameter by parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.models.perturbed import Ascent, perturbed_losses
from tests.backends import Matrix

PER: list[Ascent] = ["item", "batch"]
each_ascent = pytest.mark.parametrize("per", PER)


def softmax(logits: Matrix) -> Matrix:
    e: Matrix = np.exp(logits - logits.max())
    return np.asarray(e / e.sum())


def defined(weights: Matrix, intercepts: Matrix, inputs: Matrix, rho: float = 0.05) -> Matrix:
    """One step along the mean gradient of the items given, written out."""
    theta = np.column_stack([weights, intercepts])  # (L, D + 1)
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    labels = [int((theta @ x).argmax()) for x in rows]
    onehot = np.eye(len(weights))
    gradients = [np.outer(softmax(theta @ x) - onehot[y], x) for x, y in zip(rows, labels, strict=True)]
    gradient = np.mean(gradients, axis=0)
    moved = theta + rho * theta**2 * gradient / np.sqrt(((np.abs(theta) * gradient) ** 2).sum())
    return np.array([-np.log(softmax(moved @ x)[y]) for x, y in zip(rows, labels, strict=True)])


def a_model(n: int = 30, n_classes: int = 5, width: int = 7) -> tuple[Matrix, Matrix, Matrix]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n_classes, width)), rng.standard_normal(n_classes), rng.standard_normal((n, width))


@pytest.mark.parametrize("rho", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_step_for_each_item(rho: float, n_classes: int) -> None:
    weights, intercepts, inputs = a_model(n_classes=n_classes)
    by_one = [defined(weights, intercepts, inputs[i : i + 1], rho)[0] for i in range(30)]
    np.testing.assert_allclose(perturbed_losses(weights, intercepts, inputs, rho=rho), by_one, rtol=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.05, 1.0])
def test_a_step_for_the_batch(rho: float) -> None:
    weights, intercepts, inputs = a_model()
    losses = perturbed_losses(weights, intercepts, inputs, rho=rho, per="batch")
    np.testing.assert_allclose(losses, defined(weights, intercepts, inputs, rho), rtol=1e-10)


def test_a_batch_of_one_is_an_item() -> None:
    weights, intercepts, inputs = a_model()
    alone = [perturbed_losses(weights, intercepts, inputs[i : i + 1], per="batch")[0] for i in range(30)]
    np.testing.assert_allclose(alone, perturbed_losses(weights, intercepts, inputs), rtol=1e-12)


def test_the_loss_of_an_item_never_falls() -> None:
    weights, intercepts, inputs = a_model(200)
    before = perturbed_losses(weights, intercepts, inputs, rho=0)
    assert (perturbed_losses(weights, intercepts, inputs) > before).all()


@each_ascent
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_are_as_good_as_dense_ones(per: Ascent, kind: Any) -> None:
    weights, intercepts, inputs = a_model()
    inputs[np.abs(inputs) < 0.8] = 0
    dense = perturbed_losses(weights, intercepts, inputs, per=per)
    losses = perturbed_losses(weights, intercepts, kind(inputs), per=per)
    assert isinstance(losses, np.ndarray)
    assert losses.shape == (30,)
    np.testing.assert_allclose(losses, dense, rtol=1e-12)


@each_ascent
def test_two_classes_with_one_row_of_weights(per: Ascent) -> None:
    """Logistic regression: the other class has a logit of 0, and no parameters that could move."""
    weights, intercepts, inputs = a_model(1, 1)
    z = float((weights @ inputs[0])[0] + intercepts[0])
    length = np.sqrt((weights[0] ** 2 * inputs[0] ** 2).sum() + intercepts[0] ** 2)
    loss = np.log1p(np.exp(-abs(z) + 0.05 * length))
    padded = np.vstack([np.zeros(7), weights]), np.append(0.0, intercepts)
    np.testing.assert_allclose(perturbed_losses(*padded, inputs, per=per), [loss], rtol=1e-12)


@each_ascent
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e150])
def test_sure_items_and_large_logits_are_no_trouble(per: Ascent, scale: float) -> None:
    weights, intercepts, inputs = a_model()
    losses = perturbed_losses(scale * weights, intercepts, inputs, per=per)
    assert np.isfinite(losses).all()
    assert (losses >= 0).all()


def test_a_sure_item_takes_its_step_too() -> None:
    """1 − p is below what p = 1 can be told from, and the loss still says how far the step went."""
    weights, intercepts, inputs = np.array([[50.0], [-50.0]]), np.zeros(2), np.array([[1.0]])
    (loss,) = perturbed_losses(weights, intercepts, inputs)
    np.testing.assert_allclose(loss, np.exp(-100 + 0.05 * 100 / np.sqrt(2)), rtol=1e-9)


@each_ascent
def test_where_nothing_moves_the_loss_stays(per: Ascent) -> None:
    weights, intercepts, inputs = a_model()
    np.testing.assert_allclose(perturbed_losses(0 * weights, 0 * intercepts, inputs, per=per), np.log(5))
    np.testing.assert_allclose(perturbed_losses(weights, 0 * intercepts, 0 * inputs, per=per), np.log(5))


@each_ascent
def test_one_class_and_no_items(per: Ascent) -> None:
    weights, intercepts, inputs = a_model(3, 1)
    assert perturbed_losses(weights, intercepts, inputs, per=per).tolist() == [0, 0, 0]
    weights, intercepts, inputs = a_model(0)
    assert perturbed_losses(weights, intercepts, inputs, per=per).shape == (0,)
