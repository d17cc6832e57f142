"""Results as data: one small Parquet file, a row per campaign and round, that says where each number comes from.

Files grow over sessions: writing again replaces the rows of the same campaigns and keeps all others. pyarrow alone
is enough, so a bare machine can bring its results home in one file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from shortlist import measures
from shortlist.experiments.method_names import asked_for, part_label
from shortlist.experiments.provenance import Origin, read_origin, true_coverage
from shortlist.measures import Record
from shortlist.rates import in_percent, percent
from shortlist.system.files import replacing
from shortlist.types import Round, ShortlistError

Row: TypeAlias = dict[str, Any]

NAMED = ("recipe", "variant", "query", "acquisition")
CAMPAIGN = (*NAMED, "seed")  # what tells one campaign from another
# conventional: of the same items, asked with all classes at once
COSTS = ("cost", "conventional_cost", "relative_cost", "conventional_relative_cost", "accuracy_per_cost")
FLOOR = "floor"  # bits so far that the answers come to under what was believed of each item: measures.floor
# Accuracy, macro-F1, relative costs and coverages are in percent, in files of every version; alpha is a share.
# lists: those outside D_cal that were short of all classes; coverage: of them, how many held what was answered;
# true_coverage: the true class, where that is known to be another; full: items asked with all classes.
# Rows without `lists` are of earlier versions, whose coverage counts full lists as holding the answer.
LISTS = ("alpha", "threshold", "mean_set_size", "coverage", "true_coverage", "lists", "full")
STARTED = ("commit", "hardware", "python", "torch", "date")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in NAMED),
        *((name, pa.int64()) for name in ("seed", "round", "labelled")),
        *((name, pa.float64()) for name in ("accuracy", "macro_f1", *COSTS, FLOOR, *LISTS, "seconds")),
        *((name, pa.string()) for name in (*STARTED, "settings")),  # all else that was asked for, as JSON
    ]
)
LATER = ("true_coverage", "lists", "full", FLOOR)  # columns that the first files do not have


# --- rows ------------------------------------------------------------------------------------------------------


def rows_of(folder: Path) -> list[Row]:
    """A row per finished round of a campaign."""
    record, origin, true = measures.read(folder), read_origin(folder), true_coverage(folder)
    settings = asked_for(record)
    settings["dataset"] |= {"items": record.n_items, "classes": len(record.classes)}
    campaign = _named(record, origin)
    campaign["settings"] = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    rows = []
    for round in record.rounds:
        start = origin.of_round(round.number) if origin else None
        started = {name: getattr(start, name, None) for name in STARTED}
        rows.append(campaign | _measured(round) | started | {"true_coverage": true.get(round.number)})
    return rows


def _named(record: Record, origin: Origin | None) -> Row:
    """Names from the recipe; without one, from the dataset, the query and the acquisition."""
    config = record.config
    return {
        "recipe": origin.recipe if origin else str(config["dataset"]["name"]),
        "variant": origin.variant if origin else "",
        "query": (origin and origin.query) or part_label("queries", config["query"]),
        "acquisition": (origin and origin.acquisition) or part_label("acquisition", config["acquisition"]),
        "seed": int(config["seed"]),
    }


def _measured(round: Round) -> Row:
    whole = round.cost and round.relative_cost / round.cost  # for one unit of cost
    return {
        **{name: value for name, value in in_percent(round).items() if name in SCHEMA.names},
        "round": round.number,
        "conventional_relative_cost": percent(round.conventional_cost * whole) if whole else None,
        "accuracy_per_cost": measures.accuracy_per_cost(round),
    }


# --- files -----------------------------------------------------------------------------------------------------


def write_results(sources: Sequence[Path], out: Path) -> int:
    """Add the rounds of these campaigns to a file, made if need be; returns how many rows it then has.

    A campaign is a folder, or rows of a file like this one that came from another machine; one that two sources hold
    is refused.
    """
    if out.suffix != ".parquet":
        raise ShortlistError(f"{out}: the name must end in .parquet")
    held_by, fresh = dict[tuple[Any, ...], Path](), list[Row]()
    for source in sources:
        for row in read_results([source]) if source.is_file() else rows_of(source):
            first = held_by.setdefault(_campaign(row), source)
            if first != source:
                name = ", ".join(f"{key} {row[key]}" for key in CAMPAIGN if row[key] != "")
                raise ShortlistError(f"{source}: holds the same campaign as {first}: {name}")
            fresh.append(row)
    others = [row for row in (read_results([out]) if out.exists() else []) if _campaign(row) not in held_by]
    rows = sorted([*others, *fresh], key=lambda row: (*_campaign(row), row["round"]))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with replacing(out) as beside:
            pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), beside, compression="zstd")
    except OSError as error:
        raise ShortlistError(f"{out}: cannot be written ({error.strerror or error})") from None
    return len(rows)


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
    for row in rows:
        if wrong := next((k for k, value in row.items() if isinstance(value, float) and not isfinite(value)), None):
            raise ShortlistError(
                f"{path}: {wrong} is {row[wrong]} in round {row['round']} of {row['query']}+{row['acquisition']}, seed "
                f"{row['seed']}; collect that campaign again with shortlist results"
            )
    return rows
