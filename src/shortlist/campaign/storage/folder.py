"""A campaign is a folder: what was asked for, the database, a lock, and a folder for each round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from shortlist.campaign.config import first_difference, to_toml, without_names
from shortlist.campaign.storage.store import Reader, Store, Writer
from shortlist.system.files import locked, write_npz, write_text
from shortlist.types import Dataset, Floats, Ints, ShortlistError

HEADER = "# What this campaign was asked to do. Written by Shortlist."  # so it may be written again
# what may be changed after the start of a campaign, beside the place and size of its dataset
CHANGEABLE = ("stop", "overlap", "price")
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
                self._refuse_to_begin_anew()
                return None
        except OSError as error:
            raise ShortlistError(f"{self.path}: cannot be read ({error.strerror})") from None
        with Store(self.database, read_only=True) as kept:
            if difference := first_difference(_fixed(kept.config()), _fixed(config)):
                raise ShortlistError(
                    f"{self.path}: this campaign was made with {difference}; use the same settings or another folder"
                )
            return identify(kept, dataset, growing=growing)

    def _refuse_to_begin_anew(self) -> None:
        """An empty campaign in the place of one that people have answered would look as if nothing had been lost."""
        if (self.path / "server.lock").exists():
            raise ShortlistError(
                f"{self.database}: it is gone, and people have answered here; put it or a copy of it back, "
                "or start in another folder"
            )

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

    def _write_config(self, config: dict[str, Any]) -> None:
        """Not over a file of a person's, or of `shortlist init` for one: its comments are to stay."""
        path = self.path / "campaign.toml"
        if not path.exists() or path.read_bytes().splitlines()[:1] == [HEADER.encode()]:
            write_text(path, f"{HEADER}\n{to_toml(config)}", alone=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Two at work in one folder would do everything twice. May be entered again; dies with its process."""
        if self._held:
            yield
            return
        with locked(self.path / "campaign.lock", f"{self.path}: another process is running this campaign"):
            self._held.append(True)
            try:
                yield
            finally:
                self._held.clear()


def _fixed(config: dict[str, Any]) -> dict[str, Any]:
    """What cannot be changed after the start: all but what is CHANGEABLE and where the dataset lies."""
    dataset = {k: v for k, v in config["dataset"].items() if k not in GROWING and not isinstance(v, list)}
    fixed: dict[str, Any] = without_names({**config, "dataset": dataset, **dict.fromkeys(CHANGEABLE)})
    return fixed


# --- what a round keeps ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """`asked.npz`: what the model said about the items of a round, so that any query design can be charged later."""

    keys: npt.NDArray[np.str_]  # (n,) item keys
    items: Ints  # (n,) the campaign's item numbers
    probs: npt.NDArray[np.floating]  # (n, L), by class number
    calibration: npt.NDArray[np.bool_]  # (n,) D_cal
    prices: Floats  # (n,) what each was expected to cost when it was selected
    alpha: float  # of the round; NaN: none
    threshold: float
    alpha_before: float  # of the round before, with which D_cal was asked; NaN: none
    threshold_before: float
    ahead_items: Ints  # (m,) the next-ranked items
    ahead_probs: npt.NDArray[np.floating]  # (m, L)

    def write(self, path: Path) -> None:
        """All of it or nothing; by the process that holds the campaign's lock."""
        write_npz(path, {name: getattr(self, name) for name in self.__dataclass_fields__}, alone=True)

    @classmethod
    def read(cls, path: Path) -> Asked:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as file_arrays:
                arrays: dict[str, Any] = {name: file_arrays[name] for name in cls.__dataclass_fields__}
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, BadZipFile) as error:
            raise ShortlistError(f"{path}: cannot be read ({error}); put back a copy of the campaign") from None
        scalars = {name for name, kind in cls.__annotations__.items() if kind == "float"}
        arrays.update({name: float(arrays[name]) for name in scalars})
        return cls(**arrays)

    def widened(self, n_classes: int) -> Asked:
        """With columns of zeros for classes that were added since."""
        wider = ((0, 0), (0, n_classes - self.probs.shape[1]))
        return replace(self, probs=np.pad(self.probs, wider), ahead_probs=np.pad(self.ahead_probs, wider))


# --- stable identities -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identities:
    """A campaign numbers items and classes once, whatever order the dataset comes in later."""

    keys: Sequence[str]  # by the campaign's item number
    classes: Sequence[str]  # by the campaign's class number
    positions: Ints  # item number -> position in the dataset
    class_of: Ints  # class in the dataset -> class number
    dataset_class: Ints  # class number -> class in the dataset
    n_old_keys: int  # those after them are new since the last start
    n_old_classes: int

    @property
    def is_grown(self) -> bool:
        return self.n_old_keys < len(self.keys) or self.n_old_classes < len(self.classes)

    def own_labels(self, labels: Ints) -> Ints:
        """Labels of the dataset in the campaign's class numbers; −1 stays −1."""
        return np.where(labels >= 0, self.class_of[np.maximum(labels, 0)], -1)

    def own_class(self, cls: int) -> int:
        """The campaign's number of a class of the dataset, as an answer names it."""
        if not 0 <= cls < len(self.class_of):
            raise ShortlistError(f"answer: there is no class {cls}; there are {len(self.class_of)}")
        return int(self.class_of[cls])


def identify(store: Reader, dataset: Dataset, *, growing: bool = True) -> Identities:
    """Match the dataset with what the campaign knows; what is new stands at the end of the numbering.

    Not `growing`, new items are left for another start, and new classes refused.
    """
    old_keys, old_classes = store.keys(), store.class_names()
    keys = _matched(store.path, "items", old_keys, dataset.keys)
    classes = _matched(store.path, "classes", old_classes, dataset.classes)
    if not growing:
        keys = old_keys
        if classes != old_classes:
            raise ShortlistError(f"{store.path.parent}: there are new classes; start the server again to take them in")
    item_at = {key: i for i, key in enumerate(dataset.keys)}
    class_at = {name: i for i, name in enumerate(dataset.classes)}
    dataset_class = np.asarray([class_at[name] for name in classes], np.int64)
    return Identities(
        keys=keys,
        classes=classes,
        positions=np.asarray([item_at[key] for key in keys], np.int64),
        class_of=np.argsort(dataset_class),
        dataset_class=dataset_class,
        n_old_keys=len(old_keys),
        n_old_classes=len(old_classes),
    )


def grow(w: Writer, known: Identities, round: int) -> None:
    """Write down the items and classes that are new since the last start, which ended in `round`."""
    keys, names = known.keys[known.n_old_keys :], known.classes[known.n_old_classes :]
    if keys:
        w.add_items(known.n_old_keys, keys, round + 1)
        w.note(round, "grown", f"{len(keys)} new items")
    if names:
        w.add_classes(known.n_old_classes, names, round + 1)
        w.widen(len(known.classes))
        w.note(round, "grown", f"{len(names)} new classes")


def _matched(database: Path, what: str, known: list[str], names: Sequence[str]) -> list[str]:
    if lost := set(known) - set(names):
        gone = next(name for name in known if name in lost)
        raise ShortlistError(
            f"{database.parent}: the dataset no longer has {what} that this campaign knows ({len(lost)}, first "
            f"{gone!r}); put them back, or correct in campaign.toml where the dataset lies"
        )
    seen = set(known)
    return [*known, *(name for name in names if name not in seen)]


# --- where campaigns lie -----------------------------------------------------------------------------------------


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
