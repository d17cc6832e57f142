"""Labels to a file, with how each came about. Run twice, the file is the same."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from shortlist.campaign.folder import Folder
from shortlist.campaign.resolution import live, resolve
from shortlist.campaign.store import QuestionRow, Store
from shortlist.types import NONE, ShortlistError

COLUMNS = (
    "key",
    "label",
    "round",
    "purpose",
    "person",
    "options",
    "set_size",
    "alpha",
    "path",
    "cost",
    "seconds",
    "at",
)
Row = dict[str, Any]


def export(folder: Path, target: Path) -> int:
    """Write every label of a campaign to `target`; the ending says how. Returns how many."""
    writers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    if target.suffix not in writers:
        raise ShortlistError(f"{target}: the name must end in {', '.join(writers)}")
    if not target.parent.is_dir():
        raise ShortlistError(f"{target}: there is no folder {target.parent}")
    rows = label_rows(folder)
    fresh = target.with_name(target.name + ".new")
    try:
        writers[target.suffix](rows, fresh)
        fresh.replace(target)
    except OSError as error:
        raise ShortlistError(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)
    return len(rows)


def label_rows(folder: Path) -> list[Row]:
    """A row per labelled item, in item order, as the answer that decided it had it."""
    store = Store(Folder(folder).database, read_only=True)
    try:
        keys, names = store.keys(), store.class_names()
        asked = {q.id: q for q in store.questions()}
        answers = store.answers()
        alphas = {r.number: r.alpha for r in store.rounds()}
    finally:
        store.close()
    found = resolve(answers, asked)
    decided = {a.item: a for a in live(answers) if a.kind == "label" or a.item not in found.labels}
    rows = []
    for item, cls in sorted(found.labels.items()):
        answer = decided.get(item)
        question = asked[answer.question] if answer else None
        shown = question.classes[: question.cuts[0]] if question and question.cuts else None
        rows.append(
            {
                "key": keys[item],
                "label": names[cls],
                "round": question.round if question else None,
                "purpose": question.purpose if question else None,
                "person": answer.person if answer else None,
                "options": [names[c] for c in shown] if shown is not None else None,
                "set_size": len(shown) if shown is not None else question.n_classes if question else len(names),
                "alpha": _alpha(question, alphas) if question and question.cuts else None,
                "path": ["none" if p == NONE else names[p] for p in answer.path] if answer else [],
                "cost": answer.cost if answer else 0.0,
                "seconds": answer.active_seconds if answer else None,
                "at": answer.at if answer else None,
            }
        )
    return rows


def _alpha(question: QuestionRow, alphas: dict[int, float | None]) -> float | None:
    """D_cal and what was asked ahead were listed with the round before's."""
    return alphas.get(question.round if question.purpose == "query" else question.round - 1)


def _csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            nested = {k: json.dumps(row[k], ensure_ascii=False) for k in ("options", "path") if row[k] is not None}
            writer.writerow({**row, **nested})


def _jsonl(rows: list[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _parquet(rows: list[Row], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pa.list_(pa.string())
    kinds = {"round": pa.int64(), "options": texts, "set_size": pa.int64(), "path": texts}
    kinds |= {name: pa.float64() for name in ("alpha", "cost", "seconds")}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
