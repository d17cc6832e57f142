"""Small studies for tests: coloured squares in folders, and what somebody who knows them answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from shortlist.study.store import StudyStore, open_study

HOSTILE = "<img src=x onerror=alert(1)> & \"'"


def image_folder(root: Path, classes: int = 10, each: int = 2, names: Sequence[str] | None = None) -> Path:
    for c, name in enumerate(names or [f"class {c}" for c in range(classes)]):
        (root / name).mkdir(parents=True)
        for i in range(each):
            Image.new("RGB", (40, 30), (20 * c % 256, 80 * i, 200 - 10 * c)).save(root / name / f"{i}.png")
    return root


def small_study(tmp_path: Path, **settings: Any) -> Path:
    """A folder with a study of 4 items for groups of 2, 4 and 8."""
    images = image_folder(tmp_path / "images")
    asked = {"items": 4, "groups": [2, 4, 8], "practice": 1, **settings}
    dataset = {"name": "image_folder", "folder": str(images)}
    open_study(tmp_path / "study", {"dataset": dataset, **asked}).close()
    return tmp_path / "study"


def truths(folder: Path) -> dict[int, int]:
    """Item -> class, from the database."""
    import sqlalchemy as sa

    from shortlist.study.store import items

    store = StudyStore(folder / "study.db")
    with store.engine.connect() as c:
        found = {row.id: row.truth for row in c.execute(sa.select(items.c.id, items.c.truth))}
    store.close()
    return found
