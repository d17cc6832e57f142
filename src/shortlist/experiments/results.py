"""Results as data: one small Parquet file, a row per campaign and round, that says where each number comes from.

Files grow over sessions: writing again replaces the rows of the same campaigns and keeps all others. pyarrow alone
is enough, so a bare machine can bring its results home in one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from shortlist import measures
from shortlist.experiments.labels import acquisition_label, known_dataset, query_label
from shortlist.experiments.machine import Origin, Start, read_origin
from shortlist.experiments.truth import true_coverage
from shortlist.measures import Record
from shortlist.types import Round, ShortlistError

Row: TypeAlias = dict[str, Any]

CAMPAIGN = ("recipe", "variant", "query", "acquisition", "seed")  # what tells one campaign from another
SCHEMA = pa.schema(
    [
        ("recipe", pa.string()),
        ("variant", pa.string()),
        ("query", pa.string()),
        ("acquisition", pa.string()),
        ("seed", pa.int64()),
        ("round", pa.int64()),
        ("labelled", pa.int64()),
        ("accuracy", pa.float64()),
        ("macro_f1", pa.float64()),
        ("cost", pa.float64()),
        ("conventional_cost", pa.float64()),  # of the same items, asked with all classes at once
        ("relative_cost", pa.float64()),
        ("conventional_relative_cost", pa.float64()),
        ("accuracy_per_cost", pa.float64()),
        ("alpha", pa.float64()),
        ("threshold", pa.float64()),
        ("mean_set_size", pa.float64()),
        ("coverage", pa.float64()),  # of what was answered
        ("true_coverage", pa.float64()),  # of the true class, where that is known to be another
        ("seconds", pa.float64()),
        ("commit", pa.string()),
        ("hardware", pa.string()),
        ("python", pa.string()),
        ("torch", pa.string()),
        ("date", pa.string()),
        ("settings", pa.string()),  # everything else that was asked for, as JSON
    ]
)
LATER = ("true_coverage",)  # columns that the first files do not have


# --- rows ------------------------------------------------------------------------------------------------------


def rows_of(folder: Path) -> list[Row]:
    """What a campaign came to, round by round."""
    record, origin = measures.read(folder), read_origin(folder)
    named = _named(record, origin)
    true = true_coverage(folder)
    told = {"settings": json.dumps(_settings(record), sort_keys=True, ensure_ascii=False)}
    return [
        named
        | _measured(round)
        | {"true_coverage": true.get(round.number)}
        | _started(origin.of_round(round.number) if origin else None)
        | told
        for round in record.rounds
    ]


def _named(record: Record, origin: Origin | None) -> Row:
    """As the recipe calls it; what no recipe has named has the name of its dataset, query and acquisition."""
    config = record.config
    return {
        "recipe": origin.recipe if origin else str(config["dataset"]["name"]),
        "variant": origin.variant if origin else "",
        "query": (origin and origin.query) or query_label(config["query"]),
        "acquisition": (origin and origin.acquisition) or acquisition_label(config["acquisition"]),
        "seed": int(config["seed"]),
    }


def _measured(round: Round) -> Row:
    whole = round.cost and round.relative_cost / round.cost  # % for one unit of cost
    return {
        "round": round.number,
        "labelled": round.labelled,
        "accuracy": round.accuracy,
        "macro_f1": round.macro_f1,
        "cost": round.cost,
        "conventional_cost": round.conventional_cost,
        "relative_cost": round.relative_cost,
        "conventional_relative_cost": round.conventional_cost * whole if whole else None,
        "accuracy_per_cost": measures.accuracy_per_cost(round),
        "alpha": round.alpha,
        "threshold": round.threshold,
        "mean_set_size": round.mean_set_size,
        "coverage": round.coverage,
        "seconds": round.seconds,
    }


def _started(start: Start | None) -> Row:
    return {name: getattr(start, name, None) for name in ("commit", "hardware", "python", "torch", "date")}


def _settings(record: Record) -> Row:
    size = {"items": record.n_items, "classes": len(record.classes)}
    config = {key: value for key, value in record.config.items() if key != "seed"}
    return {**config, "dataset": known_dataset(record.config["dataset"]) | size}


# --- files -----------------------------------------------------------------------------------------------------


def write_results(sources: Sequence[Path], out: Path) -> int:
    """Add the rounds of these campaigns to a file, or make it; all of it, or what was there stays. How many rows.

    A campaign is a folder, or rows of a file like this one that came from another machine.
    """
    if out.suffix != ".parquet":
        raise ShortlistError(f"{out}: the name must end in .parquet")
    fresh = _together(sources)
    kept = [row for row in (read_results([out]) if out.exists() else []) if _campaign(row) not in fresh]
    rows = sorted(
        [*kept, *(row for rows in fresh.values() for row in rows)], key=lambda row: (*_campaign(row), row["round"])
    )
    beside = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), beside, compression="zstd")
        beside.replace(out)
    except OSError as error:
        raise ShortlistError(f"{out}: cannot be written ({error.strerror or error})") from None
    finally:
        beside.unlink(missing_ok=True)
    return len(rows)


def _together(sources: Sequence[Path]) -> dict[tuple[Any, ...], list[Row]]:
    """The rows of every campaign; two sources that hold the same one are refused."""
    found: dict[tuple[Any, ...], tuple[Path, list[Row]]] = {}
    for source in sources:
        for row in read_results([source]) if source.is_file() else rows_of(source):
            first, rows = found.setdefault(_campaign(row), (source, []))
            if first != source:
                told = ", ".join(f"{key} {row[key]}" for key in CAMPAIGN if row[key] != "")
                raise ShortlistError(f"{source}: holds the same campaign as {first}: {told}")
            rows.append(row)
    return {name: rows for name, (_, rows) in found.items()}


def _campaign(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in CAMPAIGN)


def read_results(paths: Iterable[Path]) -> list[Row]:
    """The rows of files, and of all files in folders, in order."""
    files = [f for path in paths for f in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    return [row for file in files for row in _read(file)]


def _read(path: Path) -> list[Row]:
    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such file") from None
    except (OSError, pa.ArrowException) as error:
        raise ShortlistError(f"{path}: cannot be read as results: {error}") from None
    if added := [name for name in LATER if name not in table.schema.names]:
        for name in added:
            table = table.append_column(name, pa.nulls(len(table), SCHEMA.field(name).type))
        table = table.select([name for name in SCHEMA.names if name in table.schema.names])
    if table.schema.names != SCHEMA.names:
        missing = sorted(set(SCHEMA.names) ^ set(table.schema.names))
        raise ShortlistError(f"{path}: not a file of results of this version: {', '.join(missing)} differ")
    rows: list[Row] = table.to_pylist()
    return rows
