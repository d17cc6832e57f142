from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from shortlist.conformal import Quantile
from shortlist.system.extras import require
from shortlist.system.terminal import say
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from shortlist.queries.candidate_set import CalibratedSet, CandidateSet

ROWS = 8192


def sets(
    probs: Annotated[Path, typer.Option(help="Probabilities to make sets for, .npy (items, classes).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .parquet or .jsonl.")],
    cal_probs: Annotated[
        Path | None, typer.Option(help="Probabilities of labelled items, .npy (items, classes).")
    ] = None,
    cal_labels: Annotated[Path | None, typer.Option(help="Their labels, .npy of whole numbers from 0.")] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Error rate. (Default: the one that makes labels cheapest.)")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Of an earlier run, as it was printed, with its --alpha: the same sets, without calibration."
        ),
    ] = None,
    quantile: Annotated[Quantile, typer.Option(help="corrected counts the item to come.")] = "plain",
    score: Annotated[Literal["lac", "aps", "raps"], typer.Option(help="Conformal score.")] = "lac",
) -> None:
    """Candidate sets from the probabilities of any model.

    The calibration items must not be ones the model was trained on. Writes a row per item: row, size, classes
    (most probable first), expected_bits.

    Example: shortlist sets --probs p.npy --cal-probs c.npy --cal-labels y.npy -o sets.parquet
    """
    from shortlist.queries.candidate_set import CandidateSet
    from shortlist.recipes.parts import build
    from shortlist.system.files import replacing

    if out.suffix not in (".parquet", ".jsonl"):
        raise ShortlistError(f"{out}: the name must end in .parquet or .jsonl")
    if out.suffix == ".parquet":
        require("pyarrow", extra="report")
    if not out.parent.is_dir():
        raise ShortlistError(f"{out}: there is no folder {out.parent}")
    pool, asked = _matrix(probs), CandidateSet(alpha=alpha, quantile=quantile, score=build("conformal", score, "score"))
    if threshold is None:
        query = _calibrated(asked, cal_probs, cal_labels, probs, pool)
    else:
        query = _found_before(asked, threshold, cal_probs, cal_labels)
    with replacing(out) as fresh:
        total, conventional, sizes = _write(pool, query, fresh, out.suffix, str(probs))
    found = " (the share of calibration items whose class is not listed)" if alpha is None else ""
    told = f"--threshold {query.threshold!r} --alpha {query.reach!r}"  # every digit: a rounded one lists other classes
    told += "" if score == "lac" else f" --score {score}"
    priced = f"of lists short of all classes {query.reach:.4g} missed: that prices them, and is the --alpha below\n"
    say(
        f"alpha {query.alpha:.4g}{found}, threshold {query.threshold:.4g}: {sizes / len(pool):.2f} classes a list, "
        f"{total:.1f} bits expected for {len(pool)} items, {conventional:.1f} conventionally: {out}\n"
        f"{'' if query.reach == query.alpha else priced}the same lists again, without calibration: {told}"
    )


def _calibrated(
    asked: CandidateSet, probs: Path | None, labels: Path | None, pool_at: Path, pool: Any
) -> CalibratedSet:
    from shortlist.datasets.feature_file import read_array
    from shortlist.probabilities import check_labels, check_probs

    if probs is None or labels is None:
        raise ShortlistError("sets: give --cal-probs and --cal-labels to calibrate on, or the --threshold of earlier")
    known, truth = _matrix(probs), read_array(labels)
    if pool.shape[1] != known.shape[1]:
        raise ShortlistError(f"{probs}: {known.shape[1]} classes, but {pool_at} has {pool.shape[1]}")
    check_probs(known, str(probs))
    check_labels(truth, known.shape[0], known.shape[1], str(labels))
    return asked.calibrate(known.astype(pool.dtype), truth)


def _found_before(asked: CandidateSet, threshold: float, *calibration: Path | None) -> CalibratedSet:
    from shortlist.queries.candidate_set import CalibratedSet

    if any(calibration):
        raise ShortlistError("--threshold: it is what calibration found; leave out --cal-probs and --cal-labels")
    if asked.alpha is None:
        raise ShortlistError("--threshold: give the --alpha that was printed with it, which prices the lists")
    if not 0 <= threshold <= 1:
        raise ShortlistError(f"--threshold: {threshold} is not from 0 (all classes) to 1")
    return CalibratedSet(asked, asked.alpha, threshold)


def _write(pool: Any, query: CalibratedSet, path: Path, suffix: str, name: str) -> tuple[float, float, int]:
    """Every batch to the file; the expected cost, the conventional cost, the classes shown."""
    from shortlist.probabilities import check_probs
    from shortlist.system.progress import track

    total, sizes = 0.0, 0
    write = _parquet if suffix == ".parquet" else _jsonl

    def batches() -> Iterator[dict[str, Any]]:
        nonlocal total, sizes
        starts = range(0, len(pool), ROWS)
        for start in track(starts, total=len(starts), what="making sets"):
            batch = np.asarray(pool[start : start + ROWS])
            check_probs(batch, f"{name} from row {start}")
            plan = query.plan(batch)
            price = np.asarray(plan.expected(query.cost))
            total, sizes = total + float(price.sum()), sizes + int(plan.sizes.sum())
            yield {
                "row": list(range(start, start + len(batch))),
                "size": plan.sizes.tolist(),
                "classes": [classes.tolist() for classes in plan.sets],
                "expected_bits": price.tolist(),
            }

    write(batches(), path, {"missed": str(query.reach), "threshold": str(query.threshold)})
    return total, len(pool) * float(np.log2(pool.shape[1])), sizes


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
    from shortlist.datasets.feature_file import read_array

    found = read_array(path)
    if found.ndim != 2 or found.dtype.kind != "f" or not found.size:
        raise ShortlistError(
            f"{path}: need floating point probabilities (items, classes), got {found.dtype} {found.shape}"
        )
    return found
