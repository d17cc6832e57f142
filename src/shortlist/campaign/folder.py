"""A campaign is a folder: what was asked for, the database, a lock, and a folder for each round."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.campaign.config import first_difference, to_toml
from shortlist.campaign.identity import Identities, grow, identify
from shortlist.campaign.store import Store
from shortlist.types import Dataset, ShortlistError

HEADER = "# What this campaign was asked to do. Written by Shortlist."  # so it may be written again
# where a dataset lies, and how much there is
GROWING = {"folder", "path", "test", "keys", "labels", "items", "test_items"}


@dataclass(frozen=True)
class Folder:
    path: Path
    _held: list[bool] = field(default_factory=list, repr=False, compare=False)  # not empty: the lock is ours

    @property
    def database(self) -> Path:
        return self.path / "campaign.db"

    def round(self, number: int) -> Path:
        return self.path / "rounds" / f"{number:03d}"

    def asked(self, number: int) -> Path:
        return self.round(number) / "asked.npz"

    def check(self, config: dict[str, Any], dataset: Dataset, *, growing: bool = True) -> Identities | None:
        """Refuse what `open` would refuse, touching nothing; None if no campaign is here yet."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise ShortlistError(f"{self.path}: a campaign lives in a folder, and this is a file")
            if not self.database.exists():
                return None
        except OSError as error:
            raise ShortlistError(f"{self.path}: cannot be read ({error.strerror})") from None
        with Store(self.database, read_only=True) as kept:
            self._refuse_difference(kept.config(), config)
            return identify(kept, dataset, growing=growing)

    def open(self, config: dict[str, Any], dataset: Dataset, *, growing: bool = True) -> tuple[Store, Identities]:
        """The campaign's database: made new, or the one that is here if it belongs to this configuration."""
        known = self.check(config, dataset, growing=growing)
        try:
            return self._create(config, dataset) if known is None else self._reopen(config, known)
        except OSError as error:
            raise ShortlistError(f"{self.path}: cannot be written ({error.strerror})") from None

    def _create(self, config: dict[str, Any], dataset: Dataset) -> tuple[Store, Identities]:
        self.path.mkdir(parents=True, exist_ok=True)
        with self.alone():
            if self.database.exists():
                raise ShortlistError(f"{self.path}: another process has just made this campaign; start again")
            self._write_config(config)
            store = Store.create(self.database, dataset.keys, dataset.classes, config)
        return store, identify(store, dataset)

    def _reopen(self, config: dict[str, Any], known: Identities) -> tuple[Store, Identities]:
        store = Store(self.database)
        if known.is_grown or store.config() != config:
            with self.alone():
                self._write_config(config)
                with store.writing() as w:
                    w.set_config(config)
                    grow(w, known, round=max((r.number for r in store.rounds()), default=0))
        return store, known

    def _refuse_difference(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        fixed_old, fixed_new = _fixed(old), _fixed(new)
        if difference := first_difference(fixed_old, fixed_new):
            raise ShortlistError(
                f"{self.path}: this campaign was made with {difference}; use the same settings or another folder"
            )

    def _write_config(self, config: dict[str, Any]) -> None:
        if self._is_somebodys:
            return
        fresh = self.path / "campaign.toml.new"
        fresh.write_text(f"{HEADER}\n{to_toml(config)}", "utf-8")
        fresh.replace(self.path / "campaign.toml")

    @property
    def _is_somebodys(self) -> bool:
        """Whether campaign.toml was written by a person, or by `shortlist init` for one: its comments are to stay."""
        try:
            with (self.path / "campaign.toml").open("rb") as file:
                return file.readline().rstrip() != HEADER.encode()
        except FileNotFoundError:
            return False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Two at work in one folder would do everything twice. May be entered again; dies with its process."""
        if self._held:
            yield
            return
        with (self.path / "campaign.lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ShortlistError(f"{self.path}: another process is running this campaign") from None
            self._held.append(True)
            try:
                yield
            finally:
                self._held.clear()


def _fixed(config: dict[str, Any]) -> dict[str, Any]:
    """What can not be changed later: all but the end, overlap and pricing, and the place and size of the dataset."""
    dataset = {k: v for k, v in config["dataset"].items() if k not in GROWING and not isinstance(v, list)}
    return {**config, "dataset": dataset, "stop": None, "overlap": None, "price": None}
