"""`shortlist study`: made, refused, tabled."""

from __future__ import annotations

import os
import re
import signal
import tomllib
from pathlib import Path

import httpx2
import pytest

from shortlist.costs import Seconds
from shortlist.study.store import StudyStore, open_study
from tests.cli.command import Command, snapshot
from tests.study.participant import Participant
from tests.study.studies import image_folder, small_study, truths
from tests.study.study_server import Server, free_port


def take_part(folder: Path, people: int) -> None:
    """People whose every answer takes 1 + log2(options) seconds, each a little slower than the one before."""
    store, known = StudyStore(folder / "study.db"), truths(folder)
    for number in range(people):
        person = store.start(f"cookie {number}", f"p{number}")
        seconds = 1.0 + person.options.bit_length() - 1 + 0.01 * number
        for question in store.questions(person):
            store.answer(f"cookie {number}", question.item, known[question.item], seconds, seconds)
    store.close()


def test_the_table_and_the_files(shortlist: Command, tmp_path: Path) -> None:
    folder = small_study(tmp_path)
    take_part(folder, 9)
    got = shortlist("study", folder, "--table")
    assert got.code == 0, got.err
    assert "9 people have finished" in got.out
    assert "As in the paper" in got.out
    assert "With everybody" in got.out
    assert "0.979" in got.out
    line = next(line for line in got.out.splitlines() if line.startswith("cost = "))
    cost = tomllib.loads((folder / "cost.toml").read_text())["cost"]
    assert tomllib.loads(line)["cost"] == cost
    assert cost["name"] == "seconds"
    assert Seconds(cost["a"], cost["b"])(4) == pytest.approx(3, abs=0.1)
    assert len((folder / "study.csv").read_text().splitlines()) == 1 + 9 * 4
    page = (folder / "study.html").read_text()
    assert "/static/" not in page
    assert not re.search(r"\b(src|href)=|^import |^export ", page, re.MULTILINE)  # it needs nothing beside it
    assert "data-figure=" in page


def test_a_campaign_takes_the_line(tmp_path: Path, shortlist: Command) -> None:
    from shortlist.recipes.parts import build

    folder = small_study(tmp_path)
    take_part(folder, 3)
    shortlist("study", folder, "--table")
    found = tomllib.loads((folder / "cost.toml").read_text())
    assert build("queries", {"name": "candidate_set", **found}, "query").cost == Seconds(
        found["cost"]["a"], found["cost"]["b"]
    )


def test_the_table_of_nobody_and_of_one_group(shortlist: Command, tmp_path: Path) -> None:
    folder = small_study(tmp_path)
    assert "0 people have finished" in shortlist("study", folder, "--table").out
    take_part(folder, 1)
    assert "1 person has finished" in shortlist("study", folder, "--table").out
    assert not (folder / "cost.toml").exists()


def test_the_table_twice_is_the_same_twice(shortlist: Command, tmp_path: Path) -> None:
    folder = small_study(tmp_path)
    take_part(folder, 4)
    shortlist("study", folder, "--table")
    before = snapshot(folder)
    shortlist("study", folder, "--table")
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["s"], "give --images DIR"),
        (["s", "--table"], "no study here"),
        (["s", "--images", "nowhere"], "nowhere: there is no such folder"),
        (["s", "--images", "images", "--demo"], "give one of them"),
        (["s", "--images", "images"], "32 options need as many classes, and there are 10"),
        (["s", "--images", "images", "--groups", "2,x"], "not a list of whole numbers"),
        (["s", "--images", "images", "--groups", "2,4", "--items", "0"], "items is 0"),
        (
            ["s", "--images", "images", "--groups", "2,4", "--items", "18"],
            "21 are needed .practice included., and only 20",
        ),
        (["s", "--images", "images", "--groups", "2,4", "--seed", "-1"], "seed is -1"),
        (["s", "--images", "images", "--groups", "2,4", "--probs", "p.npy"], "p.npy: there is no such file"),
        (["s", "--demo", "--probs", "p.npy"], "give --images too"),
        (
            ["s", "--images", "images", "--groups", "2,4", "--items", "5", "--host", "nowhere.invalid"],
            "nowhere.invalid: no port to listen on",
        ),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    shortlist: Command, tmp_path: Path, arguments: list[str], words: str
) -> None:
    image_folder(tmp_path / "images")
    got = shortlist("study", *arguments, "--no-browser")
    assert got.code == 1
    assert got.err.startswith("error: ")
    assert re.search(words, got.err)
    assert got.err.count("\n") == 1


def test_an_image_that_cannot_be_read_is_named(shortlist: Command, tmp_path: Path) -> None:
    images = image_folder(tmp_path / "images", classes=4, each=1)
    (images / "class 2" / "0.png").write_text("no picture")
    got = shortlist("study", "s", "--images", images, "--groups", "2", "--items", "1", "--no-browser", "--port", "0")
    assert got.code == 1
    assert "class 2/0.png: cannot be read as an image" in got.err
    assert not (tmp_path / "s").exists()


def test_a_study_stays_what_it_was_made_as(shortlist: Command, tmp_path: Path) -> None:
    folder = small_study(tmp_path)
    before = snapshot(folder)
    got = shortlist("study", folder, "--items", "6", "--no-browser")
    assert (got.code, "items = 4, not 6" in got.err) == (1, True)
    assert snapshot(folder) == before
    (folder / "study.toml").write_text((folder / "study.toml").read_text().replace("seed = 0", "seed = 3"))
    assert "seed = 0, not 3" in shortlist("study", folder, "--no-browser").err


def test_a_study_can_be_written_by_hand(tmp_path: Path) -> None:
    images = image_folder(tmp_path / "images")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "study.toml").write_text(
        f'items = 3\ngroups = [2, 5]\n[dataset]\nname = "image_folder"\nfolder = "{images}"\n'
    )
    store = open_study(tmp_path / "s")
    assert store.config()["groups"] == [2, 5]
    assert store.config()["practice"] == 3
    store.close()


def test_wrong_options_by_probabilities(tmp_path: Path) -> None:
    import numpy as np

    images = image_folder(tmp_path / "images")
    probs = np.tile(np.linspace(0.19, 0.01, 10), (20, 1))
    np.save(tmp_path / "p.npy", probs)
    asked = {"items": 5, "groups": [3], "probs": str(tmp_path / "p.npy")}
    store = open_study(tmp_path / "s", {"dataset": {"name": "image_folder", "folder": str(images)}, **asked})
    person = store.start("a cookie", None)
    assert all({0, 1} & set(question.classes) for question in store.questions(person))
    assert all(len(set(question.classes) - {0, 1, 2}) <= 1 for question in store.questions(person))
    store.close()


def test_served_stopped_and_gone_on_with(tmp_path: Path) -> None:
    folder = small_study(tmp_path)
    server = Server(folder, free_port())
    with httpx2.Client(base_url=server.address) as client:
        Participant(client).take_part("Ana")
        assert client.get(server.results).status_code == 200
    os.kill(server.process.pid, signal.SIGINT)
    said, _ = server.process.communicate(timeout=20)
    assert server.process.returncode == 0, said
    assert "1 person has finished" in said
    assert (folder / "study.html").exists()
    with Server(folder, free_port()) as again:
        assert again.said[0].endswith("finished: 1")
