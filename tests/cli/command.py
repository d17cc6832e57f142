"""The command line as a person meets it: arguments in; exit code and printed text out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from shortlist.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Command:
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | Path) -> Outcome:
        self.monkeypatch.setattr(sys, "argv", ["shortlist", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        printed = self.capsys.readouterr()
        return Outcome(code, printed.out, printed.err)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its contents."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
