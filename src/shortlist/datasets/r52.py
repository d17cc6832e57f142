"""R52: Reuters news of 1987 in 52 topics."""

from __future__ import annotations

from pathlib import Path

from shortlist.datasets.table import Table
from shortlist.types import ShortlistError


class R52(Table):
    """The single-topic subset of Reuters-21578 that the paper's text experiment uses.

    6,532 training and 2,568 test documents as two CSV files with the columns text and label, in a folder that you
    fill: the collection is for research use and does not come with this package.

    >>> R52("nowhere")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: r52: nowhere/train.csv is missing; put R52 of Reuters-21578 (research use; ...
    """

    def __init__(self, folder: str | Path) -> None:
        train, test = Path(folder) / "train.csv", Path(folder) / "test.csv"
        refuse_missing(train)
        refuse_missing(test)
        super().__init__(train, text="text", label="label", test=test)
        self.name = "r52"
        self._folder = str(folder)

    def spec(self) -> dict[str, object]:
        return {"name": "r52", "folder": self._folder}


def refuse_missing(path: Path) -> None:
    if not path.is_file():
        raise ShortlistError(
            f"r52: {path.as_posix()} is missing; put R52 of Reuters-21578 (research use; 6,532 training and 2,568 test "
            f"documents, 52 classes) into {path.parent.as_posix()} as train.csv and test.csv (columns: text,label)"
        )
