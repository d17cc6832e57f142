"""The page of benchmarks is what the command makes of the results kept; memory is measured, not guessed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import torture

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(folder: Path, **changes: object) -> None:
    rows = [
        {"what": "ours", "measured": "9 ms, 5 MB", "about": "CoreSet", "values": {"s": 0.009}, "bar": "", "met": None},
        {"what": "a peer", "measured": "90 ms, 10×", "about": "CoreSet", "bar": "≥ 20×", "met": False},
    ]
    machine = {"kind": "chip-2-cores", "processor": "Chip", "cores": 2, "gpu": None, "busy": 0.1}
    facts = {"title": "A title", "note": "What is compared.", "versions": {"numpy": "2.0"}, "seeds": [0]}
    found = {"benchmark": "some", "machine": machine, "date": "2026-01-02", "commit": "abc1234", "rows": rows}
    (folder / "some.chip-2-cores.json").write_text(json.dumps(found | facts | changes), "utf-8")


def test_the_page_is_made_of_what_is_kept(tmp_path: Path) -> None:
    made = tmp_path / "docs" / "BENCHMARKS.md"
    made.parent.mkdir()
    # links are relative to the page: at the same depth, the same words
    (tmp_path / "benchmarks").symlink_to(BENCHMARKS)
    run("page.py", "--results", str(tmp_path / "benchmarks" / "results"), "--to", str(made))
    assert made.read_text("utf-8") == (ROOT / "docs" / "BENCHMARKS.md").read_text("utf-8"), (
        "docs/BENCHMARKS.md is made, not typed: python benchmarks/page.py"
    )


def test_a_result_says_where_it_comes_from_and_what_was_missed(tmp_path: Path) -> None:
    kept(tmp_path)
    (tmp_path / "some.chip-2-cores.svg").write_text("<svg/>")
    run("page.py", "--results", str(tmp_path), "--to", str(tmp_path / "page.md"))
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "| a peer | 90 ms, 10× | ≥ 20× | **missed** |" in page
    assert "(some.chip-2-cores.svg)" in page
    for fact in ("A title", "What is compared.", "Chip, 2 cores", "numpy 2.0", "seed 0", "abc1234", "2026-01-02"):
        assert fact in page


@torture
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from Linux's /proc")
def test_memory_that_the_allocator_kept_hides_nothing() -> None:
    code = """
import numpy as np
from alone import alone
parts = [np.ones(n * 125_000) for n in (30, 1, 20, 2, 12, 30, 25)]  # freed, and kept for later by the allocator
kept = parts[3]
del parts
hold = lambda megabytes: lambda: float(np.ones(megabytes * 125_000).sum())
print([round(alone(lambda n=n: hold(n), warm=hold(1)).megabytes) for n in (5, 25, 100)])
"""
    assert [abs(a - b) <= 3 for a, b in zip(json.loads(run("-c", code)), (5, 25, 100), strict=True)] == [True] * 3
