"""Classes from tables and folders: names, descriptions and examples; and what is wrong with them, in a sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.classes import LONGEST, Classes, class_list
from shortlist.datasets.feature_file import FeatureFile
from shortlist.datasets.image_folder import ImageFolder
from shortlist.datasets.table import Table
from shortlist.types import ShortlistError


def picture(path: Path, colour: str = "red") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 6), colour).save(path)
    return path


def test_a_table_has_names_descriptions_and_examples(tmp_path: Path) -> None:
    shown = picture(tmp_path / "shown" / "cat.png")
    rows = 'name,notes,description,example,example_2\ncat,x,"purrs, sleeps",shown/cat.png,a cat\ndog,,,,\n'
    (tmp_path / "classes.csv").write_text(rows)
    assert class_list(tmp_path / "classes.csv") == Classes(
        ("cat", "dog"), {"cat": "purrs, sleeps"}, {"cat": (shown.resolve(), "a cat")}
    )


def test_tabs_and_parquet_say_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "c.tsv").write_text("description\tname\n, commas stay\tcat\n\tdog\n")
    parquet.write_table(
        pa.table({"name": ["cat", "dog"], "description": [", commas stay", None]}), tmp_path / "c.parquet"
    )
    expected = Classes(("cat", "dog"), {"cat": ", commas stay"})
    assert class_list(tmp_path / "c.tsv") == class_list(tmp_path / "c.parquet") == expected


def test_a_csv_of_names_alone_is_still_a_list_of_names(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("cat\ndog\n")
    assert class_list(tmp_path / "c.csv") == Classes(("cat", "dog"))


def test_a_folder_has_a_class_for_every_file_and_sub_folder(tmp_path: Path) -> None:
    home = tmp_path / "classes"
    red, blue = picture(home / "cat" / "1.png"), picture(home / "cat" / "2.png", "blue")
    loose = picture(home / "dog.png")
    (home / "cat" / "notes.md").write_text("Purrs.\n")
    (home / "dog.txt").write_text("Barks.")
    (home / "fox").mkdir()
    (home / ".hidden.txt").write_text("secret")
    (home / "Thumbs.db").write_bytes(b"\0")
    assert class_list(home) == Classes(
        ("cat", "dog", "fox"),
        {"cat": "Purrs.", "dog": "Barks."},
        {"cat": (red.resolve(), blue.resolve()), "dog": (loose.resolve(),)},
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("title,text\na,b\n", r"classes.csv: there is no column 'name'; its columns are title, text \(a table of"),
        ("name,description\ncat,a\ncat,b\n", "classes.csv: row 2 and row 3 are both the class 'cat'"),
        ("name,description\ncat,a\n,b\n", "classes.csv, row 3: the class is empty"),
        ("name,description\n", "classes.csv: there are no names in it"),
        ("name,description\ncat,a\n", "classes.csv: there is only the class 'cat'; at least 2 are needed"),
        ("name,description\ncat\ndog,b\n", "classes.csv: row 2: expected 2 columns, got 1"),
        ("name,name\ncat,a\ndog,b\n", "classes.csv: the column 'name' appears more than once"),
        ('name,description\ncat,"a\n', "classes.csv: row 2 is not CSV"),
        (f"name,description\ncat,{'x' * (LONGEST + 1)}\ndog,\n", "classes.csv, row 2: 5,001 characters; at most 5,000"),
        ("name,example\ncat,no.png\ndog,\n", "classes.csv, row 2: there is no image 'no.png' in "),
        ("name,example\ncat,../out.png\ndog,\n", "classes.csv, row 2: it leads out of "),
        ("name,example\ncat,.hidden.png\ndog,\n", "classes.csv, row 2: it leads out of .* or to something hidden"),
        ("name,example\ncat,link.png\ndog,\n", "classes.csv, row 2: it leads out of "),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_sentence(tmp_path: Path, rows: str, sentence: str) -> None:
    home = tmp_path / "home"
    for path in (tmp_path / "out.png", home / ".hidden.png"):
        picture(path)
    (home / "link.png").symlink_to(tmp_path / "out.png")
    (home / "classes.csv").write_text(rows)
    with pytest.raises(ShortlistError, match=sentence):
        class_list(home / "classes.csv")


def test_what_is_wrong_with_a_folder_is_said_in_a_sentence(tmp_path: Path) -> None:
    home = tmp_path / "classes"
    home.mkdir()
    with pytest.raises(ShortlistError, match=r"classes: no class is in it; a file \(.txt, .md or an image\) or a sub"):
        class_list(home)
    (home / "cat.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ShortlistError, match=r"cat.txt: cannot be read as text \(UTF-8\)"):
        class_list(home)
    (home / "cat.txt").unlink()
    os.mkfifo(home / "cat.txt")
    (home / "dog.txt").write_text("Barks.")
    assert class_list(home) == Classes(("cat", "dog"), {"dog": "Barks."})  # a pipe is not waited for
    with pytest.raises(ShortlistError, match="no such file"):
        class_list(tmp_path / "gone.csv")
    with pytest.raises(ShortlistError, match="no such file"):
        class_list(tmp_path / "gone.parquet")


@pytest.mark.parametrize("target", ["secret.txt", ".secret.txt"])
def test_a_link_never_shows_what_lies_elsewhere_or_is_hidden(tmp_path: Path, target: str) -> None:
    home = tmp_path / "classes"
    home.mkdir()
    place = home / target if target.startswith(".") else tmp_path / target
    place.write_text("a password")
    (home / "cat.txt").symlink_to(place)
    (home / "dog.txt").write_text("Barks.")
    with pytest.raises(ShortlistError, match=r"cat.txt: it leads out of .* or to something hidden") as error:
        class_list(home)
    assert "password" not in str(error.value)


# --- what datasets do with them ----------------------------------------------------------------------------------


def test_every_dataset_keeps_what_its_file_says(tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "c.csv").write_text("name,description\ncat,purrs\ndog,barks\n")
    (tmp_path / "t.csv").write_text("text,label\nx,cat\ny,\n")
    picture(tmp_path / "photos" / "1.png")
    np.save(tmp_path / "x.npy", np.eye(2))
    made: list[Any] = [
        Table(tmp_path / "t.csv", text="text", label="label", classes=tmp_path / "c.csv"),
        ImageFolder(tmp_path / "photos", classes=tmp_path / "c.csv"),
        FeatureFile(tmp_path / "x.npy", classes=tmp_path / "c.csv"),
        Arrays(["x", "y"], ["cat", None], classes=tmp_path / "c.csv"),
        Arrays(["x", "y"], ["cat", "dog"], descriptions={"cat": " purrs ", "dog": "barks"}),
        Table(tmp_path / "t.csv", text="text", classes=["cat", "dog"], descriptions={"cat": "purrs", "dog": "barks"}),
    ]
    for dataset in made:
        assert dataset.descriptions == {"cat": "purrs", "dog": "barks"}
        assert dataset.subset([0]).descriptions == dataset.descriptions
        assert dataset.classes == ("cat", "dog")


def test_what_describes_other_classes_is_refused() -> None:
    with pytest.raises(ShortlistError, match=r"descriptions: 'fox' is not one of the 2 classes \('cat', 'dog'\)"):
        Arrays(["x", "y"], ["cat", "dog"], descriptions={"fox": "red"})
    with pytest.raises(ShortlistError, match="descriptions: of 'cat': 7 is not a text"):
        Arrays(["x", "y"], ["cat", "dog"], descriptions={"cat": 7})  # type: ignore[dict-item]


def test_a_label_that_the_file_does_not_have_is_refused_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("name,description\ncat,purrs\nfox,red\n")
    (tmp_path / "t.csv").write_text("text,label\nx,cat\ny,dog\n")
    with pytest.raises(ShortlistError, match=r"t.csv, column 'label', row 1 .*'dog' is not one of the 2 classes"):
        Table(tmp_path / "t.csv", text="text", label="label", classes=tmp_path / "c.csv")
