"""Where campaigns lie."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shortlist.types import ShortlistError


def find_campaigns(paths: Iterable[Path]) -> list[Path]:
    """The campaign folders among and below these, sorted, each once."""
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise ShortlistError(f"{path}: there is no such folder")
        here = [path] if (path / "campaign.db").is_file() else [db.parent for db in path.rglob("campaign.db")]
        if not here:
            raise ShortlistError(f"{path}: no campaign here or below (a campaign's folder holds campaign.db)")
        found |= {folder.resolve(): folder for folder in here if folder.resolve() not in found}
    return sorted(found.values())
