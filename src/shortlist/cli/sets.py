from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from shortlist.conformal import Quantile as QuantileName
    from shortlist.queries.candidate_set import CandidateSet

ROWS = 8192


class Quantile(StrEnum):
    plain = "plain"
    corrected = "corrected"
    authors = "authors"


class Score(StrEnum):
    lac = "lac"
    aps = "aps"
    raps = "raps"


def sets(
    probs: Annotated[Path, typer.Option(help="Probabilities to make sets for, .npy (items, classes).")],
    cal_probs: Annotated[Path, typer.Option(help="Probabilities of labelled items, .npy (items, classes).")],
    cal_labels: Annotated[Path, typer.Option(help="Their labels, .npy of whole numbers from 0.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .parquet or .jsonl.")],
    alpha: Annotated[
        float | None, typer.Option(help="Error rate. (Default: the one that makes labels cheapest.)")
    ] = None,
    quantile: Annotated[Quantile, typer.Option(help="corrected counts the item to come.")] = Quantile.plain,
    score: Annotated[Score, typer.Option(help="Conformal score.")] = Score.lac,
) -> None:
    """Candidate sets from the probabilities of any model.

    The calibration items must not be ones the model was trained on. Writes a row per item: row, size, classes
    (most probable first), expected_bits.

    Example: shortlist sets --probs p.npy --cal-probs c.npy --cal-labels y.npy -o sets.parquet
    """
    print(candidate_sets(probs, cal_probs, cal_labels, out, alpha=alpha, quantile=quantile.value, score=score.value))


def candidate_sets(
    probs: Path,
    cal_probs: Path,
    cal_labels: Path,
    out: Path,
    *,
    alpha: float | None,
    quantile: QuantileName,
    score: str,
) -> str:
    """Calibrate, write a set per row of `probs` to `out`, and say what was found. The pool is read in batches."""
    from shortlist.experiments.parts import build
    from shortlist.probabilities import check_labels, check_probs
    from shortlist.queries.candidate_set import CandidateSet

    if out.suffix not in (".parquet", ".jsonl"):
        raise ShortlistError(f"{out}: the name must end in .parquet or .jsonl")
    if not out.parent.is_dir():
        raise ShortlistError(f"{out}: there is no folder {out.parent}")
    pool, known, labels = _matrix(probs), _matrix(cal_probs), _array(cal_labels)
    if pool.shape[1] != known.shape[1]:
        raise ShortlistError(f"{cal_probs}: {known.shape[1]} classes, but {probs} has {pool.shape[1]}")
    check_probs(known, str(cal_probs))
    query = CandidateSet(alpha=alpha, quantile=quantile, score=build("conformal", score, "score"))
    check_labels(labels, known.shape[0], known.shape[1], str(cal_labels))
    query = query.calibrate(known.astype(pool.dtype), labels)
    fresh = out.with_name(out.name + ".new")
    try:
        total, conventional, sizes = _write(pool, query, fresh, out.suffix, str(probs))
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)
    return (
        f"alpha {query.alpha:.4g}, threshold {query.threshold:.4g}: {sizes / len(pool):.2f} classes a list, "
        f"{total:.1f} bits expected for {len(pool)} items, {conventional:.1f} conventionally: {out}"
    )


def _write(pool: Any, query: CandidateSet, path: Path, suffix: str, name: str) -> tuple[float, float, int]:
    """Every batch to the file; the expected cost, the conventional cost, the classes shown."""
    from shortlist.datasets.progress import track
    from shortlist.probabilities import check_probs

    total, sizes, n_classes = 0.0, 0, pool.shape[1]
    write = _parquet if suffix == ".parquet" else _jsonl

    def batches() -> Iterator[dict[str, Any]]:
        nonlocal total, sizes
        starts = range(0, len(pool), ROWS)
        for start in track(starts, total=len(starts), what="making sets"):
            batch = np.asarray(pool[start : start + ROWS])
            check_probs(batch, f"{name} from row {start}")
            plan = query.plan(batch)
            price = np.asarray(plan.expected(query.cost))
            shown = np.asarray(plan.sizes)
            total, sizes = total + float(price.sum()), sizes + int(shown.sum())
            yield {
                "row": list(range(start, start + len(batch))),
                "size": shown.tolist(),
                "classes": _lists(plan, batch),
                "expected_bits": price.tolist(),
            }

    write(batches(), path, {"alpha": str(query.alpha), "threshold": str(query.threshold)})
    return total, len(pool) * float(np.log2(n_classes)), sizes


def _lists(plan: Any, batch: Any) -> list[list[int]]:
    """The classes each item is asked about first; all of them, in order, where there is no cut."""
    offsets, classes, sizes = plan.offsets.tolist(), plan.classes.tolist(), plan.sizes
    whole = np.flatnonzero(sizes == plan.n_classes)
    lists = [classes[a:b] for a, b in itertools.pairwise(offsets)]
    for row, order in zip(whole.tolist(), np.argsort(-batch[whole], axis=1, kind="stable").tolist(), strict=True):
        lists[row] = order
    return lists


def _parquet(batches: Iterator[dict[str, Any]], path: Path, facts: dict[str, str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [
        ("row", pa.int64()),
        ("size", pa.int32()),
        ("classes", pa.list_(pa.int32())),
        ("expected_bits", pa.float64()),
    ]
    schema = pa.schema(fields, metadata=facts)
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_pydict(batch, schema=schema))


def _jsonl(batches: Iterator[dict[str, Any]], path: Path, facts: dict[str, str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for batch in batches:
            for values in zip(*batch.values(), strict=True):
                file.write(json.dumps(dict(zip(batch, values, strict=True))) + "\n")


def _matrix(path: Path) -> Any:
    found = _array(path)
    if found.ndim != 2 or found.dtype.kind != "f" or not found.size:
        raise ShortlistError(
            f"{path}: need floating point probabilities (items, classes), got {found.dtype} {found.shape}"
        )
    return found


def _array(path: Path) -> Any:
    from shortlist.datasets.feature_file import read_array

    return read_array(path)
