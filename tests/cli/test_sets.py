from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from shortlist import CandidateSet
from tests.cli.command import Command

Probs = npt.NDArray[np.float32]


@pytest.fixture
def files(shortlist: Command) -> tuple[Probs, Probs, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 12)) * 2
    probs = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).astype(np.float32)
    labels = np.array([rng.choice(12, p=p / p.sum()) for p in probs[:200].astype(float)])
    np.save("p.npy", probs[200:])
    np.save("c.npy", probs[:200])
    np.save("y.npy", labels)
    np.savez("both.npz", p=probs, y=labels)
    return probs[200:], probs[:200], labels


def arguments(out: str = "sets.parquet", **other: str) -> list[str]:
    named = {"probs": "p.npy", "cal-probs": "c.npy", "cal-labels": "y.npy", "out": out, **other}
    return ["sets", *(word for name, value in named.items() for word in (f"--{name}", value))]


@pytest.mark.parametrize("alpha", [None, "0.1"])
@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_the_file_holds_what_the_library_gives(
    shortlist: Command, files: tuple[Probs, Probs, npt.NDArray[np.int64]], alpha: str | None, ending: str
) -> None:
    got = shortlist(*arguments(f"sets.{ending}", **({"alpha": alpha} if alpha else {})))
    assert got.code == 0, got.err
    probs, cal, labels = files
    query = CandidateSet(alpha=float(alpha) if alpha else None).calibrate(cal, labels)
    plan = query.plan(probs)
    if ending == "parquet":
        table = pq.read_table("sets.parquet")
        rows = table.to_pylist()
        assert float(table.schema.metadata[b"threshold"]) == query.threshold
    else:
        rows = [json.loads(line) for line in Path("sets.jsonl").read_text().splitlines()]
    assert [r["row"] for r in rows] == list(range(300))
    assert [r["size"] for r in rows] == plan.sizes.tolist()
    assert [r["classes"] for r in rows] == [o[:k].tolist() for o, k in zip(plan.order, plan.sizes, strict=True)]
    np.testing.assert_allclose([r["expected_bits"] for r in rows], plan.expected())
    assert f"{plan.expected().sum():.1f} bits expected for 300 items" in got.out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": "none.npy"}, "none.npy: there is no such file"),
        ({"out": "sets.txt"}, "sets.txt: the name must end in .parquet or .jsonl"),
        ({"out": "no/sets.parquet"}, "there is no folder no"),
        ({"alpha": "1.5"}, "alpha must be"),
        ({"cal-labels": "c.npy"}, "c.npy: need 200 labels"),
        ({"probs": "both.npz"}, "both.npz: holds several arrays; save the one to use as .npy"),
        ({"probs": "y.npy"}, "y.npy: need floating point probabilities (items, classes)"),
    ],
)
@pytest.mark.usefixtures("files")
def test_wrong_files_are_named(shortlist: Command, change: dict[str, str], message: str) -> None:
    got = shortlist(*arguments(**change))
    assert got.code == 1
    assert message in got.err
    assert not Path("sets.parquet").exists()
    assert not list(Path().glob("*.new"))


@pytest.mark.parametrize(
    ("row", "value", "message"),
    [
        (7, np.nan, "p.npy from row 0: row 7 holds NaN"),
        (8, 2.0, "p.npy from row 0: row 8 sums to"),
        (9, -1.0, "p.npy from row 0: row 9 holds a negative number"),
    ],
)
def test_wrong_probabilities_are_named_by_file_and_row(
    shortlist: Command,
    files: tuple[Probs, Probs, npt.NDArray[np.int64]],
    row: int,
    value: float,
    message: str,
) -> None:
    probs = files[0]
    probs[row, 3] = value
    np.save("p.npy", probs)
    got = shortlist(*arguments())
    assert got.code == 1
    assert message in got.err
    assert not Path("sets.parquet").exists()


def test_labels_of_no_class_are_named(shortlist: Command, files: tuple[Probs, Probs, npt.NDArray[np.int64]]) -> None:
    labels = files[2]
    labels[3] = 12
    np.save("y.npy", labels)
    got = shortlist(*arguments())
    assert (got.code, got.err) == (1, "error: y.npy: row 3 names class 12; there are 12 (0 to 11)\n")


def made(path: str = "sets.parquet") -> list[list[int]]:
    return [row["classes"] for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
@pytest.mark.parametrize("n", [1, 200])
def test_what_is_printed_makes_the_same_sets_again(
    shortlist: Command, files: tuple[Probs, Probs, npt.NDArray[np.int64]], n: int, score: str
) -> None:
    """With one calibration item the share it misses is 0, and --alpha 0 alone would list all classes."""
    np.save("c.npy", files[1][:n])
    np.save("y.npy", files[2][:n])
    got = shortlist(*arguments(score=score))
    assert got.code == 0, got.err
    sets = made()
    if n == 1:
        assert got.out.startswith("alpha 0 (the share of calibration items whose class is not listed), threshold 0.")
        assert min(map(len, sets)) < 12
    _, _, again = got.out.strip().partition("the same lists again, without calibration: ")
    got = shortlist("sets", "--probs", "p.npy", "--out", "again.parquet", *again.split())
    assert got.code == 0, got.err
    assert made("again.parquet") == sets
    assert Path("again.parquet").read_bytes() == Path("sets.parquet").read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "give --cal-probs and --cal-labels to calibrate on, or the --threshold of earlier"),
        (("--threshold", "0.3"), "--threshold: give the --alpha that was printed with it"),
        (("--threshold", "nan", "--alpha", "0"), "--threshold: nan is not from 0 (all classes) to 1"),
        (("--threshold", "0.3", "--cal-probs", "c.npy"), "leave out --cal-probs and --cal-labels"),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_a_threshold_goes_with(shortlist: Command, given: tuple[str, ...], message: str) -> None:
    got = shortlist("sets", "--probs", "p.npy", "--out", "sets.parquet", *given)
    assert (got.code, message in got.err) == (1, True), got.err
