"""Contract checks for acquisitions, query designs, datasets and models: run them on parts of your own.

They need no test framework. A check that fails raises an AssertionError whose sentence says what is wrong.

    import pytest
    from shortlist.checks import yield_checks

    @pytest.mark.parametrize(("name", "check"), list(yield_checks(MyAcquisition())))
    def test_contract(name, check):
        check()
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from itertools import pairwise, product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import device

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.method import PER_ITEM, Method, Scored
from shortlist.costs import Linear, Seconds
from shortlist.logits import Logits, softmax
from shortlist.plans import Plan, stage_cost
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.system.arrays import to_numpy
from shortlist.types import Array, CostModel, Dataset, Labelled, Pool, Predictions, ShortlistError

Check: TypeAlias = Callable[[], None]
Finding: TypeAlias = tuple[bool, str]  # whether something holds, and what is wrong where it does not
Findings: TypeAlias = Iterator[Finding]
Kind: TypeAlias = Callable[[Any], Any]  # makes arrays of one kind out of NumPy's


def yield_checks(part: Any, dataset: Dataset | None = None) -> Iterator[tuple[str, Check]]:
    """The name of every check that the part has to pass, and a function without arguments that runs it.

    An acquisition is checked plain and inside CostAware, a query design before its calibration and under several cost
    models, a model on a `dataset` with at least two labelled items of each of two classes.

    >>> from shortlist import Entropy
    >>> for name, check in yield_checks(Entropy()):
    ...     check()
    """
    cases: list[tuple[Any, ...]] = [(part,)]
    if hasattr(part, "select"):
        laws: tuple[Callable[..., Findings], ...] = _ACQUISITION
        cases = [(part, part), *([(CostAware(part), part)] if isinstance(part, Method) else [])]
    elif hasattr(part, "plan"):
        laws = _QUERY
        if "cost" in getattr(part, "__dataclass_fields__", ()):
            cases += [(replace(part, cost=cost),) for cost in (Linear(0.5, start=1), Seconds(0.7, 1.3))]
    elif hasattr(part, "predict"):
        if dataset is None:
            raise ShortlistError("checks: a model is checked on a dataset; pass yield_checks(model, dataset)")
        laws, cases = _MODEL, [(part, dataset)]
    else:
        laws = _DATASET
    for law in laws:
        yield law.__name__.removeprefix("_"), partial(_run, law, type(part).__name__, cases)


def _run(law: Callable[..., Findings], name: str, cases: list[tuple[Any, ...]]) -> None:
    for case in cases:
        for holds, sentence in law(*case):
            if not holds:
                raise AssertionError(f"{name}: {sentence}")


def check_part(part: Any, dataset: Dataset | None = None) -> None:
    """Every check of an acquisition, a query design, a dataset or a model (on a dataset, as `yield_checks` says).

    >>> from shortlist import Arrays, KernelSVM, Margin, TopK
    >>> check_acquisition(Margin())
    >>> check_query(TopK(2))
    >>> check_dataset(Arrays(["alpha", "Athens", "beta"], ["greek", "city", None]))
    >>> check_model(KernelSVM(), Arrays([[-1.0], [1.0], [-0.8], [0.7]] * 9, ["low", "high"] * 18))
    """
    for _, check in yield_checks(part, dataset):
        check()


check_acquisition = check_query = check_dataset = check_model = check_part


# --- what parts are tried on -----------------------------------------------------------------------------------


def _kinds() -> list[Kind]:
    """Every kind of array that is installed, with floating point numbers in 32 and 64 bits."""
    places: list[str | None] = [None]
    if find_spec("torch") is not None:
        places += ["cpu", *["cuda"] * import_module("torch").cuda.is_available()]
    return [partial(_made, bits=bits, place=place) for place in places for bits in (32, 64)]


def _made(array: Any, bits: int, place: str | None) -> Any:
    """A tensor on a device, or NumPy's array without one."""
    array = np.asarray(array)
    array = array.astype(f"float{bits}") if array.dtype.kind == "f" else array
    return array if place is None else import_module("torch").from_numpy(np.ascontiguousarray(array)).to(place)


def _is_beside(array: Array, other: Array) -> bool:
    """Whether two arrays are of one kind and on one device."""
    return type(array) is type(other) and device(array) == device(other)


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _probs(shape: tuple[int, ...], seed: int = 0) -> Any:
    """Probabilities, the last axis over classes; no two alike."""
    return softmax(_rng(seed).standard_normal((prod(shape[:-1]), shape[-1])) * 2).reshape(shape)


def _refused(pattern: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Finding:
    """That a call ends in a ShortlistError whose sentence matches the pattern."""
    try:
        call(*arguments, **named)
    except ShortlistError as error:
        return re.search(pattern, str(error)) is not None, f"an error has to match {pattern!r}; it says: {error}"
    return False, f"what is wrong has to be refused with a ShortlistError that matches {pattern!r}"


def _is_frozen(part: Any) -> bool:
    """Whether a part is a frozen dataclass, equal to its copies."""
    frozen = is_dataclass(part) and type(part).__dataclass_params__.frozen  # type: ignore[union-attr]
    return frozen and part == replace(part) and hash(part) == hash(replace(part))


# --- acquisitions: plain and inside CostAware ------------------------------------------------------------------

N = 40  # items of a pool
ARRAYS = tuple(field.name for field in fields(Pool) if field.name not in ("size", "n_classes"))
PRICES: tuple[Any, ...] = (CalibratedSet(CandidateSet(), 0.1, 0.2).price, lambda probs: 1 + probs[:, 0])


def _pool(kind: Kind = np.asarray) -> Pool:
    """Items that differ, also in their scores."""
    rng = _rng(3)
    pool = Pool(
        probs=_probs((N, 6), seed=3),
        embeddings=rng.standard_normal((N, 5)),
        features=rng.standard_normal((N, 4)),
        labelled_embeddings=rng.standard_normal((3, 5)),
        labelled_features=rng.standard_normal((3, 4)),
        losses=rng.random(N),
        samples=_probs((N, 3, 6), seed=4),
    )
    return _changed(pool, kind, ARRAYS)


def _changed(pool: Pool, change: Kind, names: Sequence[str] = PER_ITEM) -> Pool:
    """Some arrays of a pool changed alike."""
    return replace(pool, **{name: change(getattr(pool, name)) for name in names})


def _batches(record: Any, *arrays: Any) -> list[Any]:
    """Predictions or Logits as a stream, in batches of unequal size."""
    return [record(*(array[start:end] for array in arrays)) for start, end in pairwise((0, 1, 8, 10, N))]


def _prices() -> Any:
    return _rng(4).uniform(1, 3, N)


def _picks(method: Any, pool: Any, n: int = 11, price: Any = None, **arrays: Any) -> list[int]:
    price = _prices() if price is None else price
    picks: list[int] = method.select(pool, n=n, rng=_rng(1), price=price, **arrays).tolist()
    return picks


def _picks_different_positions(method: Any, plain: Any) -> Findings:
    unknown, pool, price = sorted(method.needs - set(ARRAYS)), _pool(), _prices()
    yield not unknown, f"needs names {unknown}, which are no fields of a Pool"
    yield _is_frozen(method), "has to be a frozen dataclass, equal to its copies"
    for array in (price, *(getattr(pool, name) for name in ARRAYS)):
        array.setflags(write=False)  # a method that writes into its pool fails
    for n in (0, 1, 13, N):
        picks = method.select(pool, n=n, rng=_rng(1), price=price)
        right = isinstance(picks, np.ndarray) and picks.dtype == np.int64 and picks.shape == (n,)
        yield right, f"select has to give ({n},) int64 positions as a NumPy array, got {picks!r}"
        yield len({*range(N)} & {*picks.tolist()}) == n, f"positions repeat or lie outside: {picks}"
        same = picks.tolist() == _picks(method, pool, n=n)
        yield same, "the same seed has to give the same picks; draw from `rng` alone"


def _takes_any_form_of_pool(method: Any, plain: Any) -> Findings:
    usual = _picks(method, _pool(), n=20)
    for kind in (np.ndarray.tolist, *_kinds()):
        for price in (kind(_prices()), _prices()):  # prices may live elsewhere than the pool
            yield _picks(method, _pool(kind), n=20, price=price) == usual, "lists or tensors pick others"
    for kind, price in product(_kinds(), PRICES):
        z, pool = kind(np.log(_probs((N, 6), seed=3)) + 2.5), _pool(kind)
        pool = replace(pool, probs=Logits(z).probs)
        bare, usual = replace(pool, embeddings=None, samples=None), _picks(method, pool, price=price)
        arrays = {name: getattr(pool, name) for name in ARRAYS if name != "probs"}
        forms: list[tuple[Any, dict[str, Any]]] = [
            (pool.probs, arrays),
            (replace(pool, embeddings=None), {"embeddings": pool.embeddings}),
            (replace(pool, probs=[Logits(z[:13]), Predictions(pool.probs[13:])]), {}),
        ]
        for record, matrix in ((Predictions, pool.probs), (Logits, z)):
            whole = (matrix, pool.embeddings, pool.samples)
            streams = (record(*whole), _batches(record, *whole), iter(_batches(record, *whole)))
            forms += [(record(matrix), arrays), *((replace(bare, probs=stream), {}) for stream in streams)]
        for form, named in forms:
            same = _picks(method, form, price=price, **named) == usual
            yield same, f"{type(form).__name__} gives other picks than a Pool of arrays"
        needed = Pool(**{name: arrays.get(name, pool.probs) for name in method.needs}, size=N)
        for form in (pool, needed):
            yield _picks(method, form, price=price(pool.probs)) == usual, "prices as an array give other picks"


def _takes_awkward_pools(method: Any, plain: Any) -> Findings:
    certain = np.eye(6)[np.zeros(12, int)]
    twins = _changed(_pool(), lambda array: np.repeat(array[:4], 3, axis=0))
    sure = replace(twins, probs=certain, samples=np.repeat(certain[:, None, :], 3, axis=1))
    zeros = [_changed(pool, np.zeros_like, ("embeddings", "features", "losses")) for pool in (twins, sure)]
    alone = replace(twins, probs=np.ones((12, 1)), samples=np.ones((12, 3, 1)))
    for kind, pool in product(_kinds(), (twins, sure, *zeros, alone)):
        for price in (kind(np.ones(12)), CandidateSet().price):
            picks = _picks(method, _changed(pool, kind, ARRAYS), n=12, price=price)
            yield sorted(picks) == [*range(12)], "twins, sure rows, zeros or one class leave items out"
    for size in (N, 0):
        pool = _changed(_pool(), partial(np.take, indices=np.arange(size), axis=0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            picks = _picks(method, pool, n=99, price=_prices()[:size])
        yield sorted(picks) == [*range(size)], f"99 picks of {size} items have to be all of them"
        warning = f"{type(plain).__name__}: 99 picks are asked of a pool of {size} items; it picks all of them"
        yield warning in [str(record.message) for record in caught], f"it has to warn: {warning}"
    pool = replace(_pool(), labelled_embeddings=None, labelled_features=None)
    empty = replace(pool, labelled_embeddings=np.empty((0, 5)), labelled_features=np.empty((0, 4)))
    yield _picks(method, pool) == _picks(method, empty), "no labelled rows and none at all differ"


def _refuses_wrong_pools(method: Any, plain: Any) -> Findings:
    name, pool = type(plain).__name__, _pool()
    yield _refused(f"^{name}: n must be at least 0, got -1", _picks, method, pool, n=-1)
    for field, probs in product(sorted(plain.needs & set(PER_ITEM)), (pool.probs, [Predictions(pool.probs)])):
        bare: dict[str, Any] = {"probs": probs, field: None}
        yield _refused(f"^{name} needs {field}, and the pool has none", _picks, method, replace(pool, **bare))
    for field in sorted(method.needs):
        rows = np.array(getattr(pool, field))
        start = "^probs: need a matrix" if field == "probs" else f"^{name}: {field} must be an array of {rows.ndim} dim"
        wrongs: list[tuple[Any, str]] = [(rows[..., None], start)]
        rows[(2,) * rows.ndim] = np.nan
        fault = "^probs: row 2 holds NaN" if field == "probs" else f"^{name}: {field} row 2 is not finite"
        for wrong, pattern in (*wrongs, *((kind(rows), fault) for kind in _kinds())):
            yield _refused(pattern, _picks, method, replace(pool, **{field: wrong}), price=PRICES[-1])


def _price_matters_to_cost_aware_alone(method: Any, plain: Any) -> Findings:
    if not isinstance(method, CostAware):
        return
    name, pool = type(plain).__name__, _pool()
    free = plain.select(pool, n=9, rng=_rng(1)).tolist()
    yield _picks(plain, pool, n=9) == free, "without CostAware a price may not matter"
    yield _refused(r"^CostAware needs price: pass price=query\.price", method.select, pool, n=9, rng=_rng())
    unseen = replace(pool, probs=None, samples=None, size=N)
    yield _refused(f"^{name} needs probs", _picks, method, unseen, price=CandidateSet().price)
    for price in (np.ones(39), np.ones((N, 1)), "1", *(np.full(N, wrong) for wrong in (-1.0, np.nan, np.inf))):
        yield _refused(f"^{name}: .*price must be", _picks, method, pool, price=price)


def _scores_are_ranked_by_worth(method: Any, plain: Any) -> Findings:
    if not isinstance(plain, Scored):
        return
    pool, price = _pool(), _prices()
    gains = plain.gains(Predictions(pool.probs, pool.embeddings, pool.samples))
    yield bool((gains >= 0).all()), "gains have to be at least 0"
    worth = (1 + gains) ** method.d / price if isinstance(method, CostAware) else gains
    ranked = np.argsort(-worth, kind="stable")
    for n in (0, 1, 5, N - 1, N):
        yield _picks(method, pool, n=n) == ranked[:n].tolist(), "picks are not in the order of what gains are worth"
    for seed in range(5):
        places = _rng(seed).permutation(N)
        picks = _picks(method, _changed(pool, partial(np.take, indices=places, axis=0)), price=price[places])
        yield places[picks].tolist() == ranked[: len(picks)].tolist(), "the order of the pool matters"
    for there in map(_pool, _kinds()):
        theirs = plain.gains(Predictions(there.probs, there.embeddings, there.samples))
        yield _is_beside(theirs, there.probs), "gains have to stay in the probabilities' kind of array"
        yield np.allclose(to_numpy(theirs), gains, rtol=1e-4, atol=1e-6), "gains differ between kinds of arrays"


_ACQUISITION = (
    _picks_different_positions,
    _takes_any_form_of_pool,
    _takes_awkward_pools,
    _refuses_wrong_pools,
    _price_matters_to_cost_aware_alone,
    _scores_are_ranked_by_worth,
)


# --- query designs: under several cost models ------------------------------------------------------------------


def _labelled_probs(n: int, n_classes: int, seed: int) -> tuple[Any, Any]:
    probs, rng = _probs((n, n_classes), seed), _rng(seed)
    return probs, np.array([rng.choice(n_classes, p=row) for row in probs], np.int64)


def _calibrated(query: Any, *widths: int) -> Iterator[tuple[Any, Any, Kind]]:
    """The query after calibration, and rows with ties, zeros, certainty and twins, in every kind of array."""
    for kind, n_classes in product(_kinds(), widths):
        eye, ones, usual = np.eye(n_classes), np.ones((2, n_classes)), _probs((6, n_classes), seed=2)
        rows = np.concatenate([eye[:2], ones, eye[:1] + np.round(usual * 8), np.tri(4, n_classes), usual, usual[:2]])
        cal = map(kind, _labelled_probs(60, n_classes, seed=5))
        yield query.calibrate(*cal), kind(rows / rows.sum(axis=1, keepdims=True)), kind


def _sees_truth(query: Any) -> bool:
    """Whether its plan is made of the truth as well: an oracle's."""
    return "truth" in signature(query.plan).parameters


def _planned(query: Any, probs: Any, truth: Any) -> Any:
    return query.plan(probs, truth) if _sees_truth(query) else query.plan(probs)


def _calibrates_into_a_new_query(query: Any) -> Findings:
    yield _is_frozen(query), "has to be a frozen dataclass, equal to its copies"
    yield query.n_cal >= 0 and query.state is None, "has to come uncalibrated, with n_cal of at least 0"
    before, other = repr(query), _labelled_probs(80, 5, seed=2)
    for learnt, _, _ in _calibrated(query, 5):
        new = learnt is not query and repr(query) == before
        yield new, "calibrate has to give a new query and leave the old one as it was"
        yield (learnt.n_cal, learnt.cost) == (query.n_cal, query.cost), "calibration has to keep n_cal and the cost"
        again = learnt.calibrate(*other)
        yield again == query.calibrate(*other), "calibrating again has to be as calibrating afresh"
        back = query.restored(json.loads(json.dumps(learnt.state)))
        same = back == learnt and back.calibrate(*other) == again
        yield same, "restored(state) has to bring a calibration back, also from JSON"


def _charges_and_prices_walk_the_stages(query: Any) -> Findings:
    for learnt, probs, kind in _calibrated(query, 1, 2, 3, 7):
        charges = []
        for truth in range(probs.shape[1]):
            truths = kind(np.full(probs.shape[0], truth))
            plan = _planned(learnt, probs, truths)
            yield isinstance(plan, Plan), f"plan has to give a Plan, got {type(plan).__name__}"
            charge = plan.charge(truths, query.cost)
            yield _is_beside(charge, probs), "charges have to stay in the kind of the probabilities"
            charges.append(to_numpy(charge))
            places, cuts = np.argmax(to_numpy(plan.order) == truth, axis=1), to_numpy(plan.cuts)
            walked = [_walked(plan, *place, query.cost) for place in zip(places, cuts.tolist(), strict=True)]
            yield np.allclose(charges[-1], walked, rtol=1e-12), "a charge is not that of the stages asked"
        price = learnt.price(probs)
        right = _is_beside(price, probs) and tuple(price.shape) == (probs.shape[0],)
        yield right, "price has to give one number per item, in the kind of the probabilities"
        mean = (to_numpy(probs).astype(float) * np.stack(charges, axis=1)).sum(axis=1)
        expected, rtol = (mean, 1e-6) if _sees_truth(learnt) else (to_numpy(plan.expected(query.cost)), 1e-12)
        yield np.allclose(to_numpy(price), expected, rtol=rtol), "price has to be the expected charge of the plan"


def _walked(plan: Plan, place: int, cuts: list[int], cost: CostModel) -> float:
    """What an answer at this place of an item's order costs, stage by stage."""
    total = 0.0
    for start, end in pairwise((0, *cuts, plan.n_classes) if plan.exhaustive else (0, *cuts)):
        shown, left = np.array([end - start]), np.array([plan.n_classes - start])
        none_option = plan.none_option or end == plan.n_classes
        total += float(stage_cost(shown, left, cost, none_option=none_option)[0])
        if place < end:
            break
    return total


def _plans_are_orders_with_cuts(query: Any) -> Findings:
    for learnt, probs, kind in _calibrated(query, 7):
        truths = np.arange(len(probs)) % 7
        plan, prices = _planned(learnt, probs, kind(truths)), to_numpy(learnt.price(probs))
        arrays = (plan.order, plan.sizes, plan.offsets, plan.classes, plan.cuts, plan.reach)
        yield all(_is_beside(array, probs) for array in arrays), "a plan has to stay in the kind of the probabilities"
        order, sizes, offsets, classes, cuts, _ = map(to_numpy, arrays)
        whole = np.array_equal(np.sort(order, axis=1), np.tile(np.arange(7), (len(order), 1)))
        yield whole, "the order of a plan has to hold every class once"
        yield sizes.dtype == np.int64 and ((sizes >= 1) & (sizes <= 7)).all(), "sizes have to be from 1 to L"
        charges = to_numpy(plan.charge(kind(truths)))
        for i, row in enumerate(order):
            listed = classes[offsets[i] : offsets[i + 1]].tolist()
            last = max((cut for cut in cuts[i].tolist() if cut < 7), default=0)
            yield listed == row[:last].tolist(), "classes are not the order up to the last cut"
            truth, item = kind(truths[i : i + 1]), probs[i : i + 1]
            alone = [*_planned(learnt, item, truth).charge(truth), *plan[i].charge(truth), *learnt.price(item)]
            yield alone == [charges[i], charges[i], prices[i]], "an item depends on others"


def _takes_no_items_and_lists(query: Any) -> Findings:
    for learnt, _, kind in _calibrated(query, 5):
        none, truths = kind(np.empty((0, 5))), kind(np.empty(0, np.int64))
        plan = _planned(learnt, none, truths)
        arrays = (learnt.price(none), plan.charge(truths), plan.expected(), plan.classes)
        empty = len(plan) == 0 and all(tuple(array.shape) == (0,) for array in arrays)
        yield empty, "no items have to give an empty plan"
    probs, truths = _probs((9, 5), seed=8), np.arange(9) % 5
    learnt, lists = query.calibrate(probs, truths), query.calibrate(probs.tolist(), truths.tolist())
    usual, same = _planned(learnt, probs, truths), _planned(lists, probs.tolist(), truths.tolist())
    equal = learnt == lists and usual.charge(truths).tolist() == same.charge(truths.tolist()).tolist()
    yield equal, "lists have to be taken as arrays are"


def _refuses_wrong_input(query: Any) -> Findings:
    nan = np.array([[0.5, 0.5], [np.nan, 1.0]])
    for wrong in (nan, np.ones((2, 2)), np.array([[1.5, -0.5]]), np.array([0.5, 0.5]), np.array([[1, 0]]), "1"):
        yield _refused("^probs: ", _planned, query, wrong, np.zeros(len(wrong), np.int64))
    probs, labels, beyond = _probs((3, 4)), np.zeros(3, np.int64), np.array([0, 3, 4])
    plan = _planned(query.restored(None), probs, labels)
    for wrong in (beyond, beyond - 1, labels[:2]):
        yield _refused("^truth: ", plan.charge, wrong)
    if query.n_cal:
        for wrong in (beyond, beyond / 2, labels[:2]):
            yield _refused("^labels: ", query.calibrate, probs, wrong)
        yield _refused("no labelled item to calibrate on", query.calibrate, probs[:0], labels[:0])
        conventional = stage_cost(np.full(3, 4), np.full(3, 4), query.cost)
        whole = plan.sizes.tolist() == [4] * 3 and query.price(probs).tolist() == conventional.tolist()
        yield whole, "uncalibrated it has to ask conventionally"


_QUERY = (
    _calibrates_into_a_new_query,
    _charges_and_prices_walk_the_stages,
    _plans_are_orders_with_cuts,
    _takes_no_items_and_lists,
    _refuses_wrong_input,
)


# --- datasets --------------------------------------------------------------------------------------------------


def _names_its_items(dataset: Any) -> Findings:
    yield isinstance(dataset, Dataset), "fields of a Dataset are missing"
    yield dataset.kind in {"features", "texts", "images"}, f"{dataset.kind!r} is no kind of items"
    for what, names in (("keys", dataset.keys), ("classes", dataset.classes)):
        yield all(type(name) is str and name for name in names), f"{what} have to be texts, none empty"
        yield len(set(names)) == len(names), f"{what} repeat"
    yield len(dataset.classes) >= 2, "at least two classes are needed"


def _labels_are_classes_or_unknown(dataset: Any) -> Findings:
    for what, labels, least in (("labels", dataset.labels, -1), ("test_labels", dataset.test_labels, 0)):
        if labels is not None:
            inside = ((labels >= least) & (labels < len(dataset.classes))).all()
            right = labels.dtype == np.int64 and inside
            yield bool(right), f"{what} have to be int64 from {least} to the number of classes less one"


def _holds_a_row_of_every_item(dataset: Any) -> Findings:
    n, inputs = len(dataset.keys), dataset.inputs
    rows = {name: getattr(dataset, name) for name in ("labels", "inputs", "features")}
    sizes = {name: array.shape[0] for name, array in rows.items() if array is not None}
    yield set(sizes.values()) == {n}, f"{n} keys, but {sizes}"
    picked = inputs[np.array([1, 0, 1], np.int64)]
    same = picked[1] == inputs[0]
    whole = same.nnz == same.shape[1] if hasattr(same, "nnz") else np.all(same)
    right = picked.shape == (3, *inputs.shape[1:]) and whole
    yield bool(right), "int64 positions have to pick rows of the inputs"
    both = (dataset.test_inputs is None) == (dataset.test_labels is None)
    yield both, "test_inputs and test_labels go together"
    if dataset.test_inputs is not None:
        shape = (len(dataset.test_labels), *inputs.shape[1:])
        yield dataset.test_inputs.shape == shape, f"test_inputs have to be of shape {shape}"


_DATASET = (_names_its_items, _labels_are_classes_or_unknown, _holds_a_row_of_every_item)


# --- models ----------------------------------------------------------------------------------------------------


def _half(dataset: Dataset) -> tuple[Any, Labelled]:
    """All labelled items, and the first half of them to learn from."""
    items = np.flatnonzero(dataset.labels >= 0)
    half = items[: max(2, len(items) // 2)]
    if len(np.unique(dataset.labels[half])) < 2:
        raise ShortlistError("checks: the first half of the labelled items has to be of two classes at least")
    return items, Labelled(half, dataset.labels[half], n_classes=len(dataset.classes))


def _fitted(model: Any, dataset: Dataset, **labelled: Any) -> Any:
    """(n, L) the probabilities of every labelled item after a fit."""
    items, half = _half(dataset)
    model.prepare(dataset)
    model.fit(replace(half, **labelled), rng=_rng())
    return _joined(model.predict(items))


def _joined(stream: Any) -> Any:
    return np.concatenate([to_numpy(batch.probs) for batch in stream])


def _is_close(a: Any, b: Any) -> bool:
    """Within what the order of additions may change in 32 bits."""
    return a.shape == b.shape and np.allclose(a, b, atol=1e-4)


def _predicts_probabilities(model: Any, dataset: Dataset) -> Findings:
    probs, (items, _) = _fitted(model, dataset), _half(dataset)
    shape = (len(items), len(dataset.classes))
    yield probs.shape == shape, f"predictions of {shape} are needed, whatever was learnt; got {probs.shape}"
    yield probs.dtype.kind == "f", f"probabilities have to be floating point numbers, got {probs.dtype}"
    right = (probs >= 0).all() and np.allclose(probs.sum(axis=1), 1, atol=1e-3)
    yield bool(right), "every row of probabilities has to sum to 1, with nothing below 0"
    backwards = _joined(model.predict(items[::-1].copy()))
    yield _is_close(backwards[::-1], probs), "predictions have to follow the order of the items"
    stream = model.predict(items)
    yield _is_close(_joined(stream), _joined(stream)), "predictions have to be iterable more than once"
    if dataset.test_labels is not None:
        shape = (len(dataset.test_labels), len(dataset.classes))
        test = _joined(model.predict_test()).shape
        yield test == shape, f"predict_test has to give {shape}, got {test}"


def _fits_from_scratch(model: Any, dataset: Dataset) -> Findings:
    usual, (_, half) = _fitted(model, dataset), _half(dataset)
    same = _is_close(_fitted(model, dataset), usual)
    yield same, "the same seed and labels have to give the same predictions; draw from `rng`"
    _fitted(model, dataset, labels=(half.labels + 1) % half.n_classes)
    yield _is_close(_fitted(model, dataset), usual), "a fit has to forget what was learnt before"


def _takes_or_refuses_partial_labels(model: Any, dataset: Dataset) -> Findings:
    items, half = _half(dataset)
    others = np.setdiff1d(items, half.items)[:2]
    rejected = np.tile(np.arange(half.n_classes) == 0, (len(others), 1))
    try:
        probs = _fitted(model, dataset, partial=others, rejected=rejected)
    except ShortlistError as error:
        yield "partial" in str(error), f"an error about partial labels has to name them; it says: {error}"
    else:
        yield bool(np.isfinite(probs).all()), "partial labels lead to predictions that are no numbers"


def _comes_back_from_its_folder(model: Any, dataset: Dataset) -> Findings:
    usual, (items, half) = _fitted(model, dataset), _half(dataset)
    with TemporaryDirectory() as folder:
        yield model.load(Path(folder), half) is False, "an empty folder has to load as False"
        _fitted(model, dataset)
        model.save(Path(folder))
        loaded = model.load(Path(folder), half)
        yield isinstance(loaded, bool), "load has to give True or False"
        same = not loaded or _is_close(_joined(model.predict(items)), usual)
        yield same, "what was saved and loaded has to predict the same"


_MODEL = (
    _predicts_probabilities,
    _fits_from_scratch,
    _takes_or_refuses_partial_labels,
    _comes_back_from_its_folder,
)
