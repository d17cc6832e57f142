"""The kernels give what the plain version gives: from any kind of logits, at any width, in any layout."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from shortlist import rows as plain
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.least_confident import LeastConfident
from shortlist.acquisition.margin import Margin
from shortlist.acquisition.method import Scored
from shortlist.logits import Logits, check_logits
from shortlist.logits import softmax as plain_softmax
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.types import Predictions, ShortlistError
from tests.backends import host
from tests.cuda.device import DEVICE, INTERPRETED, needs_cuda, needs_kernels

pytestmark = [needs_kernels, pytest.mark.filterwarnings("ignore::RuntimeWarning")]  # the interpreter's NaN

WIDTHS = [1, 2, 3, 10, 100, 1000, 1024, 1025, 10_000]
ROWS = 5 if INTERPRETED else 1037  # a multiple of no tile; the interpreter takes its time
CLOSE = 2e-6  # p and t nearer to each other than this share of t: a class may fall on either side

each_width = pytest.mark.parametrize("n_classes", WIDTHS)
each_dtype = pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])


def kernels() -> Any:
    return import_module("shortlist.cuda.rows")


def logits(n: int, n_classes: int, dtype: str = "float32", seed: int = 0, masked: float = 0.0) -> Any:
    """(n, L) on the device, some rows sure and some not; a share of the classes ruled out, never the first."""
    import torch

    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, n_classes)) * rng.choice([0.3, 2.0, 8.0], (n, 1))
    out = rng.random((n, n_classes)) < masked
    out[:, 0] = False
    z[out] = -np.inf
    return torch.from_numpy(z).to(getattr(torch, dtype)).to(DEVICE)


def exact(z: Any) -> Predictions:
    """Probabilities of the very same logits in float64, on the host."""
    return Predictions(plain_softmax(host(z.double())))


def assert_same(z: Any, *, thresholds: tuple[float, ...] = (1e-4, 0.02, 0.3, 1.0)) -> None:
    batch, there = exact(z), Logits(z)
    assert there.fused is not None
    for statistic in (plain.entropy, plain.largest, plain.second_largest):  # all from one launch
        found = statistic(there)
        assert found.device == z.device
        np.testing.assert_allclose(host(found), statistic(batch), rtol=1e-5, atol=1e-6)
    for threshold in thresholds:
        counts = host(plain.count_at_least(there, threshold))
        assert counts.dtype == np.int64
        assert (counts >= plain.count_at_least(batch, threshold * (1 + CLOSE))).all()
        assert (counts <= plain.count_at_least(batch, threshold * (1 - CLOSE))).all()
    assert "probs" not in vars(there)


@each_width
@each_dtype
def test_every_width_and_precision(n_classes: int, dtype: str) -> None:
    assert_same(logits(ROWS if n_classes < 2000 else ROWS // 5, n_classes, dtype))


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 31, 64, 129])
def test_any_number_of_rows(n: int, dtype: str) -> None:
    assert_same(logits(n, 10, dtype))


@each_width
def test_classes_that_are_ruled_out(n_classes: int) -> None:
    n = ROWS if n_classes < 2000 else ROWS // 5
    assert_same(logits(n, n_classes, masked=0.5))
    only = logits(n, n_classes, masked=1.0)
    assert_same(only)
    assert host(plain.entropy(Logits(only))).tolist() == [0.0] * n


@each_dtype
def test_any_layout(dtype: str) -> None:
    wide = logits(ROWS, 40, dtype)
    for z in (wide[:, 3:36], wide[1::2, :], wide[:, ::3], wide.T, wide.T.contiguous().T, wide[:1, :].expand(7, 40)):
        assert_same(z)


def test_ties_and_far_apart_logits() -> None:
    import torch

    tied = torch.zeros((3, 8), device=DEVICE)
    assert_same(tied, thresholds=(0.1, 0.125, 0.2))
    assert host(plain.count_at_least(Logits(tied), 0.125)).tolist() == [8] * 3
    assert_same(torch.tensor([[3e38, -3e38, 0.0], [88.0, 1000.0, 1000.0], [-1e4, -1e4, -1e4]], device=DEVICE))


def test_no_rows_at_all() -> None:
    none = Logits(logits(0, 7))
    assert [tuple(array.shape) for array in none.summary] == [(0,)] * 3
    assert tuple(plain.count_at_least(none, 0.5).shape) == (0,)
    check_logits(none)
    with pytest.warns(UserWarning, match="3 picks are asked of a pool of 0 items"):
        assert Entropy().select(none, n=3, rng=np.random.default_rng(0)).tolist() == []


def test_the_softmax_is_the_plain_one() -> None:
    import torch

    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        z = logits(ROWS, 100, masked=0.2).to(dtype)
        probs, usual = Logits(z).probs, plain_softmax(z)
        assert probs.dtype == usual.dtype
        np.testing.assert_allclose(host(probs), host(usual), rtol=1e-5, atol=1e-7)


def test_what_the_kernels_do_not_read_takes_the_plain_path() -> None:
    import torch

    wide = Logits(torch.zeros((2, kernels().WIDEST + 1), device=DEVICE))
    double = Logits(logits(4, 3).double())
    for batch in (wide, double):
        assert batch.fused is None
        expected = np.log(batch.matrix.shape[1]) if batch is wide else plain.entropy(exact(batch.logits))
        np.testing.assert_allclose(host(plain.entropy(batch)), expected, rtol=1e-4)


@each_dtype
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "holds NaN; every logit must be a number, or −inf to rule a class out"),
        (float("inf"), "holds [+]inf; every logit must be a number"),
        (float("-inf"), "is −inf throughout; at least one class must be possible"),
    ],
)
def test_the_first_wrong_row_is_named(dtype: str, value: float, message: str) -> None:
    z = logits(41, 10, dtype)
    for row in (33, 40):
        z[row, slice(None) if value == float("-inf") else 4] = value
    stream = [Logits(z[:7, :]), Logits(z[7:, :])]
    for pool in (Logits(z), stream):
        with pytest.raises(ShortlistError, match=f"^logits: row 33 {message}"):
            Entropy().select(pool, n=3, rng=np.random.default_rng(0))


@pytest.mark.parametrize("method", [Entropy(), Margin(), LeastConfident()], ids=lambda m: m.name)
@pytest.mark.parametrize(
    "query",
    [CalibratedSet(CandidateSet(), 0.1, 0.2), CandidateSet(), Conventional(), OneBit(), TopK(2)],
)
def test_a_whole_call_gives_the_plain_picks(method: Scored, query: Any) -> None:
    z = logits(60, 6, seed=5)
    rng = np.random.default_rng(0)
    usual = CostAware(method).select(exact(z).probs, n=20, rng=rng, price=query.price)
    stream = [Logits(z[:1, :]), Logits(z[1:50, :]), Logits(z[50:, :])]
    for pool in (Logits(z), stream):
        assert CostAware(method).select(pool, n=20, rng=rng, price=query.price).tolist() == usual.tolist()
    plain_picks = method.select(exact(z).probs, n=20, rng=rng)
    assert method.select(Logits(z), n=20, rng=rng).tolist() == plain_picks.tolist()


def test_the_same_bits_again() -> None:
    z = logits(ROWS, 100, "bfloat16")
    first, again = Logits(z).summary, Logits(z).summary
    assert all(host(a).tolist() == host(b).tolist() for a, b in zip(first, again, strict=True))
    # a row's numbers do not depend on the rows beside it, up to the order of sums, which where it lies decides
    for a, b in zip(first, Logits(z[3:, :]).summary, strict=True):
        np.testing.assert_allclose(host(a)[3:], host(b), rtol=1e-5, atol=1e-6)


@needs_cuda
def test_nothing_of_the_size_of_the_logits_is_made() -> None:
    import torch

    z = torch.randn((200_000, 1000), device=DEVICE, dtype=torch.bfloat16)
    query, rng = CalibratedSet(CandidateSet(), 0.1, 0.01), np.random.default_rng(0)
    CostAware(Entropy()).select(Logits(z[:100, :]), n=10, rng=rng, price=query.price)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    CostAware(Entropy()).select(Logits(z), n=1000, rng=rng, price=query.price)
    assert torch.cuda.max_memory_allocated() - before < 200 * z.shape[0]  # bytes; the logits are 2,000 an item


@needs_cuda
def test_places_beyond_32_bits() -> None:
    import torch

    z = torch.zeros((2_200_000, 1000), device=DEVICE, dtype=torch.bfloat16)
    z[-1, 7] = 30.0
    for layout in (z, z.T.contiguous().T):
        batch = Logits(layout)
        assert float(plain.entropy(batch)[-1]) < 1e-6
        assert plain.count_at_least(batch, 0.5)[-2:].tolist() == [0, 1]
        assert float(plain.entropy(batch)[-2]) == pytest.approx(np.log(1000), rel=1e-5)
