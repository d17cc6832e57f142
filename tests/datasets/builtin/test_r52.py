"""R52: the layout it reads, what it says when that is missing, and the real collection where there is one."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import pytest

from shortlist.datasets import VARIABLE, data_folder
from shortlist.datasets.table import R52
from shortlist.types import ShortlistError


def test_reads_the_two_files(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\ncocoa prices,cocoa\nnet profit,earn\n")
    (tmp_path / "test.csv").write_text("text,label\nloss,earn\n")
    r52 = R52(tmp_path)
    assert (r52.name, r52.kind, r52.classes) == ("r52", "texts", ("cocoa", "earn"))
    assert r52.spec() == {"name": "r52", "folder": str(tmp_path)}


@pytest.mark.parametrize("missing", ["train.csv", "test.csv"])
def test_a_missing_file_is_named_with_what_to_put_where(tmp_path: Path, missing: str) -> None:
    for name in {"train.csv", "test.csv"} - {missing}:
        (tmp_path / name).write_text("text,label\nx,a\ny,b\n")
    with pytest.raises(ShortlistError, match=rf"r52: .*{missing} is missing; put R52 of Reuters-21578 \(research use"):
        R52(tmp_path)


@pytest.mark.data
def test_the_real_collection() -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"set {VARIABLE} to a folder that holds r52/ to read the real documents")
    started = perf_counter()
    r52 = R52(data_folder("r52"))
    seconds = perf_counter() - started
    assert r52.test_labels is not None
    assert (len(r52), len(r52.test_labels), len(r52.classes)) == (6532, 2568, 52)
    assert (r52.labels >= 0).all()
    assert seconds < 5  # 0.14 s cold, 0.05 s warm on a quiet machine
