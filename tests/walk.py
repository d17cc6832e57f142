"""Through how many files does one thing walk: a simulated round, and an answer over HTTP? `python -m tests.walk` says.

A file counts when any function in it runs; what was imported, planned and opened before does not.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import shortlist

PACKAGE = Path(shortlist.__file__).parent


class Walk:
    """The files of the package of which a function runs after `begin`, in this thread and in those started since."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __enter__(self) -> Walk:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def begin(self) -> None:
        self.seen.clear()

    def files(self) -> list[str]:
        paths = [Path(name) for name in set(self.seen)]
        return sorted(path.relative_to(PACKAGE).as_posix() for path in paths if path.is_relative_to(PACKAGE))

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            self.seen.add(frame.f_code.co_filename)


def round_files() -> list[str]:
    """Of one later round of a simulated campaign, from its predictions to its evaluation."""
    from shortlist import Campaign, CandidateSet, CostAware, Digits, Entropy, Scikit, Simulated

    data, query, acquisition = Digits(), CandidateSet(n_cal=20), CostAware(Entropy())
    parts: dict[str, Any] = {"dataset": data, "model": Scikit(), "query": query, "acquisition": acquisition}
    with TemporaryDirectory() as folder, Campaign(folder, **parts, initial=50, budget=50, rounds=5) as campaign:
        rounds = campaign.run(Simulated(data.labels))
        for _ in range(3):
            next(rounds)
        with Walk() as walk:
            next(rounds)
    return walk.files()


def answer_files() -> list[str]:
    """Of one answer of a person who is signed in, from the request to the response."""
    from tests.web.serving import served, truth

    with TemporaryDirectory() as folder, Walk() as walk, served(Path(folder)) as app:
        ana = app.sign_in("ana")
        first, second, *_ = ana.questions()
        ana.answer(first, truth(first))
        walk.begin()
        ana.answer(second, truth(second))
        return walk.files()


if __name__ == "__main__":
    for what, files in (("a simulated round", round_files()), ("an answer over HTTP", answer_files())):
        print(f"{what}: {len(files)} files")
        print("".join(f"    {name}\n" for name in files), end="")
