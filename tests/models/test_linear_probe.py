from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist import Arrays, Badge, Campaign, CandidateSet, LinearProbe, Saal, Scikit, Simulated
from shortlist.types import Labelled, Model, Rng, ShortlistError
from tests.models.toys import Toy, accuracy, all_probs, blobs, digits, log_loss

torch = pytest.importorskip("torch")

from shortlist.models.linear.softmax_regression import negative_losses  # noqa: E402 - it needs torch


def rng(seed: int = 0) -> Rng:
    return np.random.default_rng(seed)


def everything(data: Toy, n_classes: int | None = None) -> Labelled:
    return Labelled(np.arange(len(data.labels)), data.labels, n_classes or int(data.labels.max()) + 1)


def fitted(data: Toy, labelled: Labelled, **settings: Any) -> LinearProbe:
    model = LinearProbe(**{"device": "cpu", **settings})
    model.prepare(data)
    model.fit(labelled, rng=rng())
    return model


# --- what is learnt --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_it_is_scikit_learns_logistic_regression(C: float) -> None:
    data = blobs()
    probs = all_probs(fitted(data, everything(data), C=C).predict_test())
    same = make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-8, max_iter=1000))
    expected = same.fit(data.inputs, data.labels).predict_proba(data.test_inputs)
    np.testing.assert_allclose(probs, expected, atol=1e-4)


def test_it_learns_digits_and_is_unsure_where_it_should_be() -> None:
    data = digits()
    model: Model = fitted(data, everything(data))
    probs = all_probs(model.predict_test())
    assert accuracy(probs, data.test_labels) > 0.94
    assert log_loss(probs, data.test_labels) < 0.22


def test_probabilities_are_float32_rows_that_sum_to_one() -> None:
    data = digits(300)
    (batch,) = fitted(data, everything(data)).predict(np.arange(300))
    assert isinstance(batch.probs, np.ndarray)
    assert batch.probs.dtype == np.float32
    np.testing.assert_allclose(batch.probs.sum(axis=1), 1, atol=1e-6)


def test_classes_without_labels_get_nothing() -> None:
    data = blobs()
    seen = np.flatnonzero((data.labels == 1) | (data.labels == 3))
    probs = all_probs(fitted(data, Labelled(seen, data.labels[seen], 6)).predict_test())
    assert probs.shape == (200, 6)
    assert not probs[:, [0, 2, 4, 5]].any()


def test_one_class_is_a_constant() -> None:
    data = blobs()
    model = fitted(data, Labelled(np.array([45]), np.array([1]), 4))
    assert (all_probs(model.predict_test()) == np.eye(4, dtype=np.float32)[1]).all()
    assert model.perturbed_loss(np.arange(3)).tolist() == [0, 0, 0]


def test_new_data_is_not_predicted_with_what_was_learnt_from_other() -> None:
    data = digits()
    model = fitted(data, everything(data))
    model.prepare(data)
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(3))


def test_it_draws_nothing_from_torch() -> None:
    data = digits()
    first = all_probs(fitted(data, everything(data)).predict_test())
    torch.manual_seed(1234)
    state = torch.get_rng_state()
    again = all_probs(fitted(data, everything(data)).predict_test())
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(again, first)


def test_the_order_of_the_answers_does_not_matter() -> None:
    data = digits(200)
    order = rng().permutation(200)
    first, second = (fitted(data, lab) for lab in (everything(data), Labelled(order, data.labels[order], 10)))
    np.testing.assert_array_equal(all_probs(first.predict_test()), all_probs(second.predict_test()))


def test_how_many_logits_are_held_at_once_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = digits(200)
    whole = all_probs(fitted(data, everything(data)).predict_test())
    monkeypatch.setattr("shortlist.models.linear.softmax_regression.HELD", 70)
    np.testing.assert_allclose(all_probs(fitted(data, everything(data)).predict_test()), whole, atol=1e-3)


@pytest.mark.parametrize("kind", ["float64", "read only", "constant", "far away"])
def test_features_of_every_sort(kind: str) -> None:
    data = blobs()
    plain = all_probs(fitted(data, everything(data)).predict_test())
    train, test = data.inputs, data.test_inputs
    assert test is not None
    if kind == "read only":
        train.setflags(write=False)
    if kind == "constant":
        train, test = (np.column_stack([rows, np.full(len(rows), 0.1)]) for rows in (train, test))
    if kind == "far away":
        train, test = train * 1e-6 + 1e-3, test * 1e-6 + 1e-3
    changed = Toy("features", train, data.labels, test, data.test_labels)
    np.testing.assert_allclose(all_probs(fitted(changed, everything(changed)).predict_test()), plain, atol=2e-3)


# --- classes that were ruled out -------------------------------------------------------------------------------


def test_negative_losses_are_the_definition() -> None:
    torch.manual_seed(0)
    logits = torch.randn(50, 7, dtype=torch.float64) * 5
    rejected = torch.rand(50, 7) < 0.4
    plain = torch.where(rejected, -torch.log(1 - logits.softmax(dim=1)), 0).sum(dim=1)
    torch.testing.assert_close(negative_losses(logits, rejected), plain)
    assert negative_losses(logits, torch.zeros(50, 7, dtype=torch.bool)).tolist() == [0] * 50


def test_a_class_that_is_certain_and_wrong_still_has_a_slope() -> None:
    logits = torch.tensor([[200.0, 0.0, -3.0]], requires_grad=True)
    losses = negative_losses(logits, torch.tensor([[True, False, False]]))
    losses.sum().backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(losses.detach(), [200.0], atol=0.1)
    np.testing.assert_allclose(logits.grad, [[1.0, -0.9526, -0.0474]], atol=1e-3)


def partly(data: Toy) -> Labelled:
    """Some items of class 2 are known to be none of 0 and 1, and of a class that nobody has a label for."""
    items = np.r_[0:10, 40:50, 70:72]
    partial = np.arange(72, 90)
    rejected = np.zeros((18, 5), np.bool_)
    rejected[:, [0, 1, 4]] = True
    return Labelled(items, data.labels[items], 5, partial, rejected)


def test_the_optimum_is_that_of_the_whole_objective() -> None:
    data = blobs((40, 30, 20))
    labelled = partly(data)
    model = fitted(data, labelled, C=1.0, steps=500)
    found = model._fitted
    assert found is not None
    x = torch.from_numpy((data.inputs - data.inputs.mean(axis=0)) / data.inputs.std(axis=0))
    weights, intercepts = (t.double().requires_grad_() for t in (found.weights, found.intercepts))
    p = (x @ weights.T + intercepts).softmax(dim=1)
    known = -torch.log(p[labelled.items, labelled.labels]).sum()
    ruled_out = -torch.log(1 - p[labelled.partial][:, :2]).sum()
    (known + 0.1 * ruled_out + weights.square().sum() / 2).backward()
    for parameter in (weights, intercepts):
        assert parameter.grad is not None
        np.testing.assert_allclose(parameter.grad.numpy(), 0, atol=1e-3)


def test_what_was_ruled_out_becomes_less_likely() -> None:
    data = blobs((40, 30, 20))
    labelled = partly(data)
    without = Labelled(labelled.items, labelled.labels, 5)
    less, more = (all_probs(fitted(data, lab, C=10).predict(labelled.partial)) for lab in (labelled, without))
    assert less[:, :2].sum() < more[:, :2].sum()


def test_one_class_and_things_ruled_out() -> None:
    data = blobs()
    labelled = Labelled(np.array([45]), np.array([1]), 4, np.array([3]), np.array([[False, True, True, False]]))
    assert (all_probs(fitted(data, labelled).predict_test()) == np.eye(4, dtype=np.float32)[1]).all()


# --- streams, embeddings, losses -------------------------------------------------------------------------------


def test_predictions_follow_the_items_asked_for_in_batches_again_and_again() -> None:
    data = blobs()
    stream = fitted(data, everything(data), batch=4).predict(np.array([7, 0, 99, 7, 50, 1]))
    assert [len(batch.probs) for batch in stream] == [4, 2]
    once, again = all_probs(stream), all_probs(stream)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_allclose(once[0], once[3], atol=1e-6)
    embeddings = np.concatenate([batch.embeddings for batch in stream])
    np.testing.assert_array_equal(embeddings, data.inputs[[7, 0, 99, 7, 50, 1]].astype(np.float32))


def test_a_stream_stays_with_the_fit_it_came_from() -> None:
    data = blobs()
    model = fitted(data, everything(data))
    stream = model.predict_test()
    before = all_probs(stream)
    model.fit(Labelled(np.arange(60), data.labels[:60], 4), rng=rng())
    np.testing.assert_array_equal(all_probs(stream), before)
    assert not np.array_equal(all_probs(model.predict_test()), before)


def test_the_perturbed_loss_is_that_of_logistic_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    data = blobs()
    items = rng(1).permutation(100)[:30]
    same = Scikit(make_pipeline(StandardScaler(), LogisticRegression(C=0.3, tol=1e-8)))
    same.prepare(data)
    same.fit(everything(data), rng=rng())
    model = fitted(data, everything(data))
    model.perturbed_loss(items[:0])
    np.testing.assert_allclose(model.perturbed_loss(items), same.perturbed_loss(items), rtol=1e-2)
    monkeypatch.setattr("shortlist.models.linear_probe.HELD", 20)
    np.testing.assert_allclose(model.perturbed_loss(items), same.perturbed_loss(items), rtol=1e-2)


# --- what is kept ----------------------------------------------------------------------------------------------


def test_what_is_kept_predicts_the_same(tmp_path: Path) -> None:
    data = blobs()
    labelled = everything(data, n_classes=6)
    model = fitted(data, labelled)
    model.save(tmp_path)
    other = LinearProbe(device="cpu")
    other.prepare(data)
    assert other.load(tmp_path, labelled) is True
    np.testing.assert_array_equal(all_probs(other.predict_test()), all_probs(model.predict_test()))
    assert [path.name for path in tmp_path.iterdir()] == ["linear_probe.npz"]


def test_what_was_learnt_from_something_else_is_not_used(tmp_path: Path) -> None:
    data = blobs()
    labelled = everything(data)
    fitted(data, labelled).save(tmp_path)
    fewer = Labelled(labelled.items[1:], labelled.labels[1:], 4)
    ruled_out = Labelled(labelled.items[1:], labelled.labels[1:], 4, np.array([0]), np.eye(4, dtype=bool)[:1])
    moved = Toy("features", data.inputs + 1e-3, data.labels, data.test_inputs, data.test_labels)

    def loads(data: Toy, labelled: Labelled, **settings: Any) -> bool:
        model = LinearProbe(**{"device": "cpu", **settings})
        model.prepare(data)
        return model.load(tmp_path, labelled)

    assert loads(data, labelled, batch=7)
    assert not loads(data, fewer)
    assert not loads(data, ruled_out)
    assert not loads(moved, labelled)
    assert not loads(data, labelled, C=1.0)
    (tmp_path / "linear_probe.npz").write_bytes(b"PK nonsense")
    assert not loads(data, labelled)
    (tmp_path / "linear_probe.npz").unlink()
    assert not loads(data, labelled)


# --- campaigns, errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("acquisition", [Badge(), Saal()], ids=["badge", "saal"])
def test_a_campaign(tmp_path: Path, acquisition: Any) -> None:
    toy = blobs((60, 60, 60))
    data = Arrays(toy.inputs, toy.labels, test_inputs=toy.test_inputs, test_labels=toy.test_labels)
    model = LinearProbe(device="cpu")
    with Campaign(tmp_path / "c", dataset=data, model=model, query=CandidateSet(n_cal=10), acquisition=acquisition,
                  initial=20, budget=20, rounds=3) as campaign:  # fmt: skip
        rounds = list(campaign.run(Simulated(data.labels)))
    assert [r.number for r in rounds] == [1, 2, 3]
    assert (rounds[-1].accuracy or 0) > 0.75
    assert len(list(tmp_path.glob("c/rounds/*/linear_probe.npz"))) == 3


def test_what_it_cannot_do_it_says() -> None:
    data = blobs(n_test=3)
    model = LinearProbe(device="cpu")
    with pytest.raises(ShortlistError, match="no data yet; call prepare"):
        model.fit(everything(data), rng=rng())
    model.prepare(Toy("features", data.inputs, data.labels))
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(3))
    with pytest.raises(ShortlistError, match="no test split"):
        model.predict_test()
    with pytest.raises(ShortlistError, match="cannot learn from no labels"):
        model.fit(Labelled(np.arange(0), np.arange(0), 4), rng=rng())
    with pytest.raises(ShortlistError, match="needs dense features, and those of toy are sparse"):
        model.prepare(Toy("features", sparse.csr_array(np.eye(3)), np.arange(3)))
    with pytest.raises(ShortlistError, match=r"linear_probe.C: must be above 0, not 0"):
        LinearProbe(C=0)


def test_the_spec_leaves_the_device_out() -> None:
    assert LinearProbe(device="cpu").spec() == LinearProbe().spec()


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.system.extras.find_spec", lambda name: None)
    with pytest.raises(ShortlistError, match=r"torch is not installed; run: pip install 'shortlist-al\[torch\]'"):
        LinearProbe()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_says_the_same_and_keeps_it_there(tmp_path: Path) -> None:
    data = digits(300)
    here, there = (fitted(data, everything(data), device=device) for device in ("cpu", "cuda"))
    (batch,) = there.predict(np.arange(300))
    assert batch.matrix.device.type == "cuda"
    assert batch.embeddings is not None
    assert batch.embeddings.device.type == "cuda"
    np.testing.assert_allclose(batch.probs.cpu().numpy(), all_probs(here.predict(np.arange(300))), atol=2e-3)
    np.testing.assert_allclose(there.perturbed_loss(np.arange(9)), here.perturbed_loss(np.arange(9)), rtol=0.02)
    there.save(tmp_path)
    assert here.load(tmp_path, everything(data))
