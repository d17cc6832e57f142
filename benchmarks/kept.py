"""Results as data: what a benchmark measured and where, as JSON beside the benchmarks.

`python benchmarks/NAME.py --keep` writes `results/NAME.MACHINE.json`; `page.py` makes docs/BENCHMARKS.md of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shortlist.system.files import write_text

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    what: str  # whose line it is
    measured: str  # as it is printed
    about: str = ""  # the heading it stands under
    values: Mapping[str, float] = field(default_factory=dict)  # the numbers, by unit
    bar: str = ""
    met: bool | None = None  # None: no bar


@dataclass(frozen=True)
class Kept:
    """A table, and everything that says where its numbers come from."""

    benchmark: str
    title: str
    note: str
    machine: Mapping[str, Any]  # kind, processor, cores, gpu, busy: cores at work for others
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    date: str
    commit: str
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: Path) -> Kept:
        found = json.loads(path.read_text("utf-8"))
        rows = tuple(Row(**row) for row in found.pop("rows"))
        return cls(**{**found, "seeds": tuple(found["seeds"]), "rows": rows})

    def path(self, folder: Path = RESULTS) -> Path:
        return folder / f"{self.benchmark}.{self.machine['kind']}.json"

    def write(self, folder: Path = RESULTS) -> Path:
        path = self.path(folder)
        write_text(path, json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")
        return path
