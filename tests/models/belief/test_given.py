from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist import Arrays, Given, ShortlistError

DATA = Arrays(np.arange(3.0)[:, np.newaxis], classes=["cat", "cow", "dog"], keys=["a", "b", "c"])


def given(folder: Path, text: str) -> Given:
    path = folder / "clip.csv"
    path.write_text(text)
    expert = Given(path)
    expert.prepare(DATA)
    return expert


def test_rows_by_key_and_columns_by_class(tmp_path: Path) -> None:
    expert = given(tmp_path, "dog,key,cow,cat\n1,c,1,2\n0.5,a,0.5,0\n")
    third = [1 / 3, 1 / 3, 1 / 3]
    np.testing.assert_allclose(expert.probs(np.arange(3)), [[0, 0.5, 0.5], third, [0.5, 0.25, 0.25]], atol=2e-3)


def test_what_is_missing_is_uniform(tmp_path: Path) -> None:
    expert = given(tmp_path, "id,cat,dog\na,0.9,0.1\nb,,0.4\n")
    expected = [[0.6, 1 / 3, 0.2 / 3], [1 / 3] * 3, [1 / 3] * 3]
    np.testing.assert_allclose(expert.probs(np.arange(3)), expected, atol=2e-3)
    expert.name_classes(["dog", "cow", "cat"])
    np.testing.assert_allclose(expert.probs(np.arange(1)), [expected[0][::-1]], atol=2e-3)


def test_parquet_says_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"key": ["a", "b"], "cat": [0.9, None], "dog": pa.array([0.1, 0.4], pa.float32())})
    pq.write_table(table, tmp_path / "clip.parquet")
    expert = Given(tmp_path / "clip.parquet")
    expert.prepare(DATA)
    same = given(tmp_path, "key,cat,dog\na,0.9,0.1\nb,,0.4\n")
    np.testing.assert_allclose(expert.probs(np.arange(3)), same.probs(np.arange(3)), atol=2e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key,cat,bird\na,1,0\n", "column 'bird' of .* is no class of arrays"),
        ("key,cat\na,1\nx,1\ny,1\n", "2 keys in .* are of no item of arrays, first 'x'"),
        ("key,cat\nx,1\n", r"no key in .* \(column 'key'\) is one of arrays"),
        ("key,cat,dog\na,0.5,0.5\nb,-0.1,1.1\n", "key 'b' in .* has -0.1; probabilities are numbers from 0 to 1"),
        ("key,cat,dog\na,nan,0.5\n", "key 'a' in .* has nan; probabilities are numbers from 0 to 1"),
        ("key,cat,dog\na,inf,0.5\n", "key 'a' in .* has inf"),
        ("key,cat,dog\na,0,0\n", "key 'a' in .* has 0 for every class; leave the row out"),
        ("key,cat,dog\na,1,0\na,0,1\n", "key 'a' is twice in"),
        ("key,cat,cat\na,1,0\n", "has two columns 'cat'"),
        ("key,cat\na,much\n", "has a cell that is no number, near key 'a'"),
        ("key\na\n", "needs a column of keys and one for each class"),
        ("", "needs a column of keys and one for each class"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ShortlistError, match=message):
        given(tmp_path, text)


def test_a_key_twice_far_apart_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.models.belief.given.GROUP", 1)
    with pytest.raises(ShortlistError, match="key 'a' is twice in"):
        given(tmp_path, "key,cat\na,1\nb,1\na,1\n")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="there is no file"):
        Given(tmp_path / "no.csv").check()
    (tmp_path / "clip.txt").write_text("")
    with pytest.raises(ShortlistError, match=r"clip.txt is neither \*.parquet nor \*.csv"):
        Given(tmp_path / "clip.txt").check()
    pytest.importorskip("pyarrow")
    (tmp_path / "clip.parquet").write_text("no")
    with pytest.raises(ShortlistError, match="cannot be read as probabilities"):
        Given(tmp_path / "clip.parquet").prepare(DATA)
    with pytest.raises(ShortlistError, match="has no data yet"):
        Given(tmp_path / "clip.csv").probs(np.arange(1))
