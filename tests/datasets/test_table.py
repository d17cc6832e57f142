"""Table: round trips through CSV and Parquet, and refusals that name file and column."""

from __future__ import annotations

import csv
import gzip
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from shortlist.datasets.table import Table, column_names
from shortlist.types import ShortlistError

ODD = ["NA", "01", "1", "null", "nan", " lead", 'quo"te', "a, b", "żółć", "日本", "line\nbreak", "TRUE"]
FORMATS = [".csv", ".csv.gz", ".parquet"]


def write(path: Path, columns: dict[str, list[Any]]) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(columns), path)
        return path
    file = StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns.values(), strict=True))
    content = file.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_odd_class_names_and_missing_labels_round_trip(tmp_path: Path, form: str) -> None:
    labels = [*ODD, None, "NA"]
    texts = [f"text {i}, " + "x" * i for i in range(len(labels))]
    keys = [f"id {label}" for label in ODD] + ["NA", "null"]
    table = Table(
        write(tmp_path / f"t{form}", {"body": texts, "topic": labels, "id": keys}), text="body", label="topic", key="id"
    )
    assert table.classes == tuple(sorted(ODD))
    assert [table.classes[c] if c >= 0 else None for c in table.labels] == labels
    assert table.inputs.tolist() == texts
    assert table.keys == tuple(keys)
    assert (table.kind, table.name) == ("texts", "table")


@pytest.mark.parametrize("form", FORMATS)
def test_columns_of_numbers(tmp_path: Path, form: str) -> None:
    columns: dict[str, list[Any]] = {
        "x": [1, 2, 3],
        "unused": ["?", "", "!"],
        "y": [0.5, -1e3, 2.0],
        "label": ["01", "1", None],
    }
    table = Table(write(tmp_path / f"t{form}", columns), columns=["y", "x"], label="label")
    assert table.inputs.tolist() == [[0.5, 1], [-1e3, 2], [2, 3]]
    assert table.labels.tolist() == [0, 1, -1]
    assert table.keys == ("0", "1", "2")


def test_numbers_in_csv_may_have_spaces_around_them(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,label\n 1 ,a\n2.5,b\n")
    assert Table(tmp_path / "t.csv", columns=["x"], label="label").inputs.tolist() == [[1.0], [2.5]]


def test_parquet_labels_of_other_types_become_text(tmp_path: Path) -> None:
    for name, labels in {
        "ints": pa.array([7, None, 10]),
        "codes": pa.array(["7", None, "10"]).dictionary_encode(),
    }.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0], "label": labels}), path)
        table = Table(path, columns=["x"], label="label")
        assert table.classes == ("10", "7")
        assert table.labels.tolist() == [1, -1, 0]


@pytest.mark.parametrize("form", FORMATS)
def test_test_file(tmp_path: Path, form: str) -> None:
    train = write(tmp_path / f"train{form}", {"text": ["p", "q"], "label": ["b", "a"]})
    test = write(tmp_path / f"test{form}", {"label": ["b", "b", "a"], "text": ["r", "s", "t"]})
    table = Table(train, text="text", label="label", test=test)
    assert table.test_inputs is not None
    assert table.test_inputs.tolist() == ["r", "s", "t"]
    assert table.test_labels is not None
    assert table.test_labels.tolist() == [1, 1, 0]


def test_an_unlabelled_file_with_given_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", {"text": ["p", "q"]})
    table = Table(path, text="text", classes=["no", "yes"])
    assert table.labels.tolist() == [-1, -1]
    assert table.spec() == {"name": "table", "path": str(path), "text": "text", "classes": ["no", "yes"]}


def test_classes_from_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", {"text": ["p", "q"]})
    (tmp_path / "classes.txt").write_text("no\nyes\n")
    assert Table(path, text="text", classes=tmp_path / "classes.txt").spec()["classes"] == ["no", "yes"]


@pytest.mark.parametrize("form", FORMATS)
def test_column_names(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / f"t{form}", {"text": ["p"], "id": ["1"]})
    assert column_names(path) == ["text", "id"]
    with pytest.raises(ShortlistError, match=r"none\.csv: there is no such file"):
        column_names(tmp_path / "none.csv")


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\nx,a\ny,b\n", encoding="utf-8-sig")
    assert len(Table(tmp_path / "t.csv", text="text", label="label")) == 2


def test_a_cell_of_megabytes(tmp_path: Path) -> None:
    book = "word " * 1_000_000
    table = Table(write(tmp_path / "t.csv", {"text": [book, "short"], "label": ["a", "b"]}), text="text", label="label")
    assert table.inputs[0] == book


def test_a_quote_that_is_left_open_swallows_no_rows(tmp_path: Path) -> None:
    """Sixty rows, of which the tenth opens a quote that an inch mark closes 35 rows on: 25 rows were read."""
    rows = [f"{i},text {i},{'spam' if i % 2 else 'ham'}" for i in range(60)]
    rows[10], rows[45] = '10,"I said hello,ham', '45,size 5",ham'
    path = tmp_path / "t.csv"
    path.write_text("id,text,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(ShortlistError, match=r"t\.csv: row 12: 34 lines inside one cell look like rows of the table"):
        Table(path, text="text", label="label", key="id")
    rows[45] = "45,size 5,ham"
    path.write_text("id,text,label\n" + "\n".join(rows) + "\n")
    with pytest.raises(ShortlistError, match=r"t\.csv: row 12 is not CSV \(unexpected end of data\); is a quote"):
        Table(path, text="text", label="label", key="id")


def test_a_text_of_many_lines_is_one_text(tmp_path: Path) -> None:
    letter = "\n".join(
        ["Dear Ana,", "thank you, and all of yours, for the apples.", *["It rained, again."] * 20, "", "Bob"]
    )
    table = Table(
        write(tmp_path / "t.csv", {"text": [letter, letter], "label": ["a", "b"]}), text="text", label="label"
    )
    assert table.inputs.tolist() == [letter, letter]


@pytest.mark.parametrize("form", FORMATS)
def test_the_table_as_it_was_given(tmp_path: Path, form: str) -> None:
    columns: dict[str, list[Any]] = {"text": ["p", "q"], "label": ["b", "a"], "n": [1, 2], "id": ["01", "02"]}
    path = write(tmp_path / f"t{form}", columns)
    for key, keys in ((None, ["0", "1"]), ("id", ["01", "02"])):
        given = Table(path, text="text", label="label", key=key).as_given()
        rows = list(given.rows)
        assert list(given.types) == list(columns)
        assert [name for name, _ in rows] == keys
        number = int if form == ".parquet" else str
        assert [row["n"] for _, row in rows] == [number(1), number(2)]


ROWS: dict[str, list[Any]] = {"text": ["p", "q", "r"], "n": [1, 2, 3], "word": [1, "two", 3], "label": ["b", "a", None]}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "table: give either text (one column of texts) or columns"),
        ({"text": "text", "columns": ["n"]}, "table: give either text"),
        ({"columns": "n"}, "table: columns has to be a list of column names, not 'n'"),
        ({"columns": []}, "table: columns has to be a list"),
        ({"columns": ["n", "label"], "label": "label"}, "the column 'label' is both the label and an input"),
        ({"text": "body"}, "t.csv: there is no column 'body'; its columns are text, n, word, label"),
        ({"text": "text", "label": "topic"}, "t.csv: there is no column 'topic'; its columns are"),
        ({"text": "text", "label": "label", "key": "id"}, "t.csv: there is no column 'id'; its columns are"),
        ({"columns": ["n", "word"], "label": "label"}, "t.csv, column 'word', row 1 (counting from 0): 'two' is not a"),
        ({"text": "label", "label": "word"}, "t.csv, column 'label', row 2 (counting from 0): the text is missing"),
        (
            {"text": "text", "label": "label", "key": "label"},
            "t.csv, column 'label', row 2 (counting from 0): the key is",
        ),
        ({"text": "text"}, "classes: no label is known"),
        (
            {"text": "text", "label": "label", "classes": ["b", "c"]},
            "t.csv, column 'label', row 1 (counting from 0): 'a' is not one of the 2 classes ('b', 'c')",
        ),
        ({"text": "text", "test": "t.csv"}, "the test file t.csv is of no use without label"),
    ],
)
def test_refusals_of_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("t.csv"), ROWS)
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        Table("t.csv", **options)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.csv", None, "none.csv: there is no such file"),
        ("t.txt", b"text,label\nx,a\n", "t.txt: only .csv, .csv.gz and .parquet files can be read"),
        ("t.csv", b"", "t.csv: cannot be read: the file is empty"),
        ("t.csv", b"text,label\n", "t.csv: the file has no rows"),
        (
            "t.csv",
            b"text,label\nx,a\ny,b,c\n",
            "t.csv: row 3: expected 2 columns, got 3",
        ),
        (
            "t.csv",
            b"text,label\n\xff\xfe,a\ny,b\n",
            "t.csv: cannot be read: 'utf-8' codec can't decode byte 0xff",
        ),
        ("t.csv", b"text,text,label\nx,y,a\n", "t.csv: the column 'text' appears more than once"),
        ("t.csv", b"text,label\nx,a\ny,a\n", "classes of t.csv, column 'label': there is only the class 'a'"),
        ("t.csv", b"text,label\nx,\ny,\n", "classes of t.csv, column 'label': no label is known"),
        ("t.csv.gz", b"text,label\nx,a\n", "t.csv.gz: cannot be read"),
        ("t.parquet", b"PAR0", "t.parquet: cannot be read"),
    ],
)
def test_refusals_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes | None, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        Table(name, text="text", label="label")


@pytest.mark.parametrize("form", FORMATS)
def test_refused_numbers_name_column_row_and_value(tmp_path: Path, form: str) -> None:
    path = write(tmp_path / f"t{form}", {"x": [1.0, None], "label": ["a", "b"]})
    with pytest.raises(ShortlistError, match=r"column 'x', row 1 \(counting from 0\): None is not a number"):
        Table(path, columns=["x"], label="label")


def test_what_python_takes_for_a_number_is_refused_by_row_too(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", {"x": ["1", "1_000"], "label": ["a", "b"]})
    with pytest.raises(ShortlistError, match=r"column 'x', row 1 \(counting from 0\): '1_000' is not a number"):
        Table(path, columns=["x"], label="label")


def test_a_parquet_column_of_lists_is_no_number(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": [[1.0], [2.0]], "label": ["a", "b"]})
    with pytest.raises(ShortlistError, match=r"column 'x', row 0 \(counting from 0\): \[1\.0\] is not a number"):
        Table(path, columns=["x"], label="label")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["c"], "test.csv, column 'label', row 0 (counting from 0): 'c' is not one of the 2 classes"),
        ([None], "test.csv, column 'label', row 0 (counting from 0): is missing"),
    ],
)
def test_refused_test_labels(tmp_path: Path, labels: list[Any], sentence: str) -> None:
    train = write(tmp_path / "train.csv", {"text": ["p", "q"], "label": ["b", "a"]})
    test = write(tmp_path / "test.csv", {"text": ["r"], "label": labels})
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        Table(train, text="text", label="label", test=test)


def test_duplicate_keys_name_file_and_column(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", {"text": ["p", "q"], "label": ["b", "a"], "id": ["1", "1"]})
    with pytest.raises(ShortlistError, match=r"t\.csv, column 'id': row 0 and row 1 .* the key '1'"):
        Table(path, text="text", label="label", key="id")


def test_inputs_are_an_object_array_that_positions_index(tmp_path: Path) -> None:
    table = Table(write(tmp_path / "t.csv", ROWS), text="text", label="label")
    assert table.inputs[np.array([2, 0])].tolist() == ["r", "p"]
    assert table.labelled().keys == ("0", "1")


def test_a_column_of_lists_and_a_header_that_is_no_text(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": [["a"], ["b"]], "label": ["x", "y"]}), tmp_path / "t.parquet")
    with pytest.raises(ShortlistError, match=r"a column of list<.*> cannot be read as text"):
        Table(tmp_path / "t.parquet", text="text", label="label")
    (tmp_path / "t.csv").write_bytes("texté,label\na,x\nb,y\n".encode("latin-1"))
    with pytest.raises(ShortlistError, match=r"t\.csv: cannot be read"):
        Table(tmp_path / "t.csv", text="texté", label="label")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_some_rows_are_spread_over_the_file_and_keep_their_numbers(tmp_path: Path, kind: str) -> None:
    rows = [f"text {i},{'abcde'[i // 2]}" for i in range(10)]
    (tmp_path / "whole.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    path = tmp_path / f"whole.{kind}"
    if kind == "parquet":
        from pyarrow import csv, parquet

        parquet.write_table(csv.read_csv(tmp_path / "whole.csv"), path)
    some = Table(path, text="text", label="label", items=5)
    assert list(some.keys) == ["0", "2", "4", "6", "8"]
    assert list(some.inputs) == [f"text {i}" for i in (0, 2, 4, 6, 8)]
    assert some.classes == tuple("abcde")
    assert [key for key, _ in some.as_given().rows] == [str(i) for i in range(10)]
    with pytest.raises(ShortlistError, match=r"^table: items is 11; it has to be from 1 to 10"):
        Table(path, text="text", label="label", items=11)
