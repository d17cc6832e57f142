"""Parquet: typed columns, lists as lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.campaign.formats.given import Given, check_columns, given
from shortlist.campaign.formats.rows import Column, Row, Sheet
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 50_000  # rows a group
_READ = ("key", "label", "person", "seconds")


def write(sheet: Sheet, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, n = _schema(sheet.columns), 0
    with pq.ParquetWriter(path, schema) as file:
        for rows in _groups(sheet.rows):
            file.write_table(pa.Table.from_pylist(rows, schema=schema))
            n += len(rows)
    return n


def _schema(columns: Iterable[Column]) -> pa.Schema:
    import pyarrow as pa

    kinds = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    kinds |= {"texts": pa.list_(pa.string()), "floats": pa.list_(pa.float64())}
    return pa.schema([(column.name, kinds[column.kind]) for column in columns])


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    left = iter(rows)
    while group := list(islice(left, GROUP)):
        yield group


def read(path: Path) -> Iterator[Given]:
    for number, row in enumerate(_rows(path), start=1):
        if found := given(f"{path}: row {number}", *(row.get(name) for name in _READ)):
            yield found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_columns(path, names)
            wanted = [name for name in _READ if name in names]
            for batch in file.iter_batches(GROUP, columns=wanted):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ShortlistError(f"{path}: cannot be read as Parquet ({error})") from None
