"""Names: lines or JSON, and refusals that say where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shortlist.datasets.classes import Names, as_classes
from shortlist.types import ShortlistError


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("c.txt", "cat\ndog\n", ("cat", "dog")),
        ("c.txt", "\ufeffcat \r\n dog\r\n\r\n\n", ("cat", "dog")),
        ("c.txt", "[other]\n[1]\na, b", ("[other]", "[1]", "a, b")),
        ("c.txt", '["cat",\n "dog"]', ("cat", "dog")),
        ("c.json", '["cat", "żółw", 7]', ("cat", "żółw", "7")),
        ("c.txt", "1\n2\n", ("1", "2")),
    ],
)
def test_lines_or_json(tmp_path: Path, name: str, content: str, names: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(content, "utf-8", newline="")
    assert Names.read(tmp_path / name).names == names
    assert as_classes(tmp_path / name) == names
    assert as_classes(str(tmp_path / name)) == names


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.txt", None, "none.txt: there is no such file"),
        ("c.txt", b"\xff\xfe\x00", "c.txt: cannot be read as text (UTF-8)"),
        ("c.txt", b"", "c.txt: there are no names in it; write one class a line"),
        ("c.txt", b"\n\n", "c.txt: there are no names in it"),
        ("c.txt", b"cat\n", "c.txt: there is only the class 'cat'; at least 2 are needed"),
        ("c.txt", b"cat\n\ndog\n", "c.txt, line 2: the class is empty"),
        ("c.txt", b"cat\ndog\nfox\ndog \n", "c.txt: line 2 and line 4 are both the class 'dog'"),
        ("c.json", b'["cat", ""]', "c.json, entry 2: the class is empty"),
        ("c.json", b'["cat", null]', "c.json, entry 2: None is not a name"),
        ("c.json", b'["cat", "cat"]', "c.json: entry 1 and entry 2 are both the class 'cat'"),
        ("c.json", b'{"cat": 1}', "c.json: a JSON list of names is wanted, not a dict"),
        ("c.json", b'["cat"', "c.json: cannot be read as JSON"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        as_classes(tmp_path / name)


def test_lists_without_end_and_half_characters(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ShortlistError, match=r"deep\.json: cannot be read as JSON"):
        as_classes(tmp_path / "deep.json")
    (tmp_path / "half.json").write_text('["a", "\\ud800"]')
    with pytest.raises(ShortlistError, match=r"half\.json.*ud800' is no text \(not UTF-8\); rename it"):
        as_classes(tmp_path / "half.json")
