"""Parquet: typed columns, lists as lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from shortlist.campaign.formats.format import READ, FileLabel, Format, Row, Sheet, check_columns
from shortlist.system.extras import require
from shortlist.types import ShortlistError

GROUP = 50_000  # rows a group


def write(sheet: Sheet, path: Path) -> None:
    require("pyarrow", extra="report")
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    kinds |= {"texts": pa.list_(pa.string()), "floats": pa.list_(pa.float64())}
    kinds |= {"given": pa.string()}  # a cell of a CSV
    schema = pa.schema([(column.name, column.stored or kinds[column.kind]) for column in sheet.columns])
    left = iter(sheet.rows)
    with pq.ParquetWriter(path, schema) as file:
        while rows := list(islice(left, GROUP)):
            file.write_table(pa.Table.from_pylist(rows, schema=schema))


def read(path: Path, columns: Sequence[str] = READ) -> Iterator[FileLabel]:
    for number, row in enumerate(_rows(path, columns), start=1):
        yield FileLabel(f"{path}: row {number}", *(row.get(name) for name in columns))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    require("pyarrow", extra="report")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_columns(path, names, columns)
            wanted = [name for name in columns if name in names]
            for batch in file.iter_batches(GROUP, columns=wanted):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ShortlistError(f"{path}: cannot be read as Parquet ({error})") from None


PARQUET = Format(
    "parquet",
    "Parquet",
    "A typed table for pandas, Polars, Spark.",
    ".parquet",
    "application/vnd.apache.parquet",
    write,
    read,
)
