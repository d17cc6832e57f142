"""The rows of a CSV file, read strictly: what is no CSV is refused by the row in which it stands."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

from shortlist.types import ShortlistError

csv.field_size_limit(1 << 30)  # bytes of a cell, of the whole process: a book is one, too
PROOF = 8  # commas inside a cell, all of them where rows would have them: a quote was left open


def csv_rows(lines: Iterable[str], place: object, delimiter: str = ",") -> Iterator[list[str]]:
    """The rows that are not empty lines, the header first, and all as long as it. A spreadsheet calls the header row 1.

    >>> list(csv_rows(["key,label\\n", 'a,"x, y"\\n'], "t.csv"))
    [['key', 'label'], ['a', 'x, y']]
    >>> list(csv_rows(["key,label\\n", 'a,"x\\n', "b,y\\n"], "t.csv"))
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: t.csv: row 2 is not CSV (unexpected end of data); is a quote in it left open?
    """
    number, width = 0, 0
    try:
        for number, cells in enumerate(filter(None, csv.reader(lines, strict=True, delimiter=delimiter)), start=1):
            width = width or len(cells)
            if len(cells) != width:
                raise ShortlistError(f"{place}: row {number}: expected {width} columns, got {len(cells)}")
            if swallowed := rows_inside(cells):
                raise ShortlistError(
                    f"{place}: row {number}: {swallowed} lines inside one cell look like rows of the table; close the "
                    "quote that is left open in this row (or, if they are one text, save the table as .parquet)"
                )
            yield cells
    except csv.Error as error:
        raise ShortlistError(f"{place}: row {number + 1} is not CSV ({error}); is a quote in it left open?") from None


def rows_inside(cells: Sequence[str]) -> int:
    """How many lines of a cell are rows of the table, for all that can be seen; 0 for a text with line breaks.

    A quote that is left open swallows rows up to the next quote, which may well stand where it closes a cell.

    >>> rows_inside(["Dear Ana,\\nsee you\\nBob", "mail"]), rows_inside(["a,ham" + 9 * "\\nb,spam" + "\\nc", "ham"])
    (0, 9)
    """
    for cell in cells:
        whole = cell.split("\n")[1:-1]  # the first line is a row's end, the last one's beginning
        commas = len(cells) - 1
        if len(whole) * commas >= PROOF and all(line.count(",") == commas for line in whole):
            return len(whole)
    return 0
