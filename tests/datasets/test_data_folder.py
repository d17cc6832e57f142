"""data_folder: --data first, then the environment, and a sentence for each way it can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist.datasets import OFFICIAL, VARIABLE, data_folder
from shortlist.types import ShortlistError


def test_given_folder_goes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for root in ("given", "environment"):
        (tmp_path / root / "r52").mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "environment"))
    assert data_folder("r52", tmp_path / "given") == tmp_path / "given" / "r52"
    assert data_folder("r52") == tmp_path / "environment" / "r52"


@pytest.mark.parametrize("value", [None, ""])
def test_neither_is_set(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ShortlistError, match="r52: its folder is not known; give --data FOLDER or set SHORTLIST_DATA"):
        data_folder("r52")


def test_the_root_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"r52: .*nowhere \(from --data\) is not a folder"):
        data_folder("r52", tmp_path / "nowhere")


def test_the_dataset_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(ShortlistError, match=r"there is no folder r52 in .* \(from SHORTLIST_DATA\)"):
        data_folder("r52")


@pytest.mark.parametrize("name", OFFICIAL)
def test_datasets_that_say_what_is_missing_have_their_say(tmp_path: Path, name: str) -> None:
    assert data_folder(name, tmp_path) == tmp_path / OFFICIAL[name]
    with pytest.raises(ShortlistError, match=rf"{name}: .*{OFFICIAL[name]}/.* is missing; .*https://"):
        getattr(shortlist, name.capitalize())(data_folder(name, tmp_path))


@pytest.mark.parametrize("name", OFFICIAL)
def test_what_to_look_for_is_the_official_folder_and_there_is_a_way_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ShortlistError, match=rf"the folder that holds {OFFICIAL[name]}/; --smoke tries a recipe"):
        data_folder(name)
    with pytest.raises(ShortlistError, match=r"the folder that holds r52/$"):  # its recipe has no [smoke]
        data_folder("r52")
