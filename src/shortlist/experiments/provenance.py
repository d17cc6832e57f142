"""`machine.json`: which campaign of which recipe a folder holds, and where and with what code its rounds ran.

Written when a campaign starts, never when its results are collected: by then both may be others.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

import shortlist
from shortlist import measures
from shortlist.rates import percent
from shortlist.recipes.recipe import Job
from shortlist.system.files import write_text
from shortlist.types import Dataset, Ints, ShortlistError

FILE = "machine.json"
PACKAGE = Path(shortlist.__file__).parent


@dataclass(frozen=True)
class Start:
    """A start of a campaign, on some machine with some code."""

    from_round: int  # the first that it could finish
    commit: str | None
    hardware: str
    python: str
    torch: str | None  # None: not used
    date: str


@dataclass(frozen=True)
class Origin:
    """What a campaign is called in its recipe, and its starts in order."""

    recipe: str
    variant: str
    query: str
    acquisition: str
    starts: tuple[Start, ...] = ()

    def of_round(self, number: int) -> Start | None:
        """The start that finished a round."""
        before = [start for start in self.starts if start.from_round <= number]
        return before[-1] if before else None


def note_start(job: Job, finished: int, model: object) -> None:
    """Write down where a campaign goes on after so many finished rounds, unless that is where it was before.

    Call it only while holding the lock of the campaign's folder: other processes have started nothing.
    """
    here, known = this_start(finished + 1, model), read_origin(job.folder)
    starts = known.starts if known else ()
    if starts and replace(starts[-1], from_round=here.from_round, date=here.date) == here:
        return  # the same code on the same kind of machine
    origin = Origin(job.recipe.name, job.variant, job.query, job.acquisition, (*starts, here))
    write_text(job.folder / FILE, json.dumps(asdict(origin), indent=1, ensure_ascii=False) + "\n", alone=True)


def read_origin(folder: Path) -> Origin | None:
    """None for a campaign that no recipe has started."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        written: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return Origin(**{**written, "starts": tuple(Start(**start) for start in written["starts"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ShortlistError(f"{path}: cannot be read ({error}); put back a copy of the campaign") from None


# --- here and now ----------------------------------------------------------------------------------------------


def this_start(from_round: int, model: object) -> Start:
    return Start(
        from_round=from_round,
        commit=commit(),
        hardware=hardware(model),
        python=platform.python_version(),
        torch=version("torch").split("+")[0] if uses_torch(model) else None,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def uses_torch(model: object) -> bool:
    """Models that use torch have a device; that torch is loaded says nothing, as another part may have loaded it."""
    return hasattr(model, "device")


def hardware(model: Any) -> str:
    """The GPU, if the model is to use one and torch finds it, or else the processor."""
    if uses_torch(model):
        import torch

        from shortlist.models.torch_runtime import chosen

        device = chosen(model.device)
        if device.type == "cuda":
            return str(torch.cuda.get_device_name(device))
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.processor() or platform.machine())}, {os.cpu_count()} cores"


@cache
def commit() -> str | None:
    """The code that runs: of the checkout it lies in, or as SHORTLIST_COMMIT names a copy; None if neither knows."""
    try:
        _git("ls-files", "--error-unmatch", "__init__.py")  # a checkout around an installed copy says nothing of it
        named, changes = _git("rev-parse", "--short=10", "HEAD"), _git("diff", "HEAD", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("SHORTLIST_COMMIT") or None
    return f"{named} and changes {crc32(changes.encode()):08x}" if changes else named


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True).stdout.strip()


# --- truth.json --------------------------------------------------------------------------------------------------


TRUTH = "truth.json"


def note_truth(folder: Path, dataset: Dataset, answers: Ints) -> None:
    """Write down the coverage of the true classes by round, unless every answer is the true class."""
    if (answers == dataset.labels).all():
        return
    truth = {key: dataset.classes[label] for key, label in zip(dataset.keys, dataset.labels.tolist(), strict=True)}
    held = {number: percent(share) for number, share in measures.coverages(folder, truth).items()}
    write_text(folder / TRUTH, json.dumps(held) + "\n")


def true_coverage(folder: Path) -> dict[int, float]:
    """In %, as the file has it, by round; empty where every answer was the true class."""
    path = folder / TRUTH
    return {int(round): share for round, share in json.loads(path.read_text("utf-8")).items()} if path.exists() else {}
