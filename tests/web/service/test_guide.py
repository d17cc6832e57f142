"""The guide over HTTP: guidelines, descriptions, examples from files or from what people have labelled."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.classes import class_list
from shortlist.types import ShortlistError
from shortlist.web.service.guide import EDGE, Guide, read_guidelines
from tests.campaign.toys import data
from tests.web.serving import Served, served, truth


def described(folder: Path) -> Arrays:
    """Five classes: one with pictures, one with a text, all but one described."""
    home = folder / "classes"
    home.mkdir(parents=True)
    Image.effect_noise((900, 500), 40).convert("RGB").save(home / "shown.png")
    Image.new("RGB", (8, 8), "blue").save(home / "other.png")
    rows = ["name,description,example,example_2", "c0,The first.,shown.png,other.png", "c1,The second.,like this,"]
    (home / "c.csv").write_text("\n".join([*rows, "c2,The third.,,", f"c3,{'long ' * 100},,", "c4,,,"]) + "\n")
    plain = data(60)
    return Arrays(plain.inputs, plain.labels, classes=class_list(home / "c.csv"), keys=plain.keys)


def guided(app: Served, guidelines: Path) -> None:
    """As `shortlist label` would serve it."""
    going = app.campaign
    app.client.app.state.guide = Guide(going.view, going.settings.dataset, guidelines)  # type: ignore[attr-defined]


def test_descriptions_and_examples_come_from_the_file(tmp_path: Path) -> None:
    with served(tmp_path / "run", dataset=described(tmp_path)) as app:
        ana = app.sign_in("ana")
        classes = ana.get("/api/classes")
        assert classes["names"] == ["c0", "c1", "c2", "c3", "c4"]
        assert [len(about) for about in classes["about"]] == [10, 11, 10, 300, 0]
        guide = ana.get("/api/guide?classes=3,0,1,99,0")
        assert guide["guidelines"] is None
        assert [one["cls"] for one in guide["classes"]] == [3, 0, 1]
        assert guide["classes"][0]["description"] == ("long " * 100).strip()
        pictures = guide["classes"][1]
        assert [one["src"] for one in pictures["examples"]] == [f"/api/classes/0/examples/{n}" for n in (0, 1)]
        assert guide["classes"][2]["examples"] == [{"kind": "text", "text": "like this", "key": None}]
        got = ana.ask("GET", pictures["examples"][0]["src"])
        assert got.headers["content-type"] == "image/png"
        assert max(Image.open(io.BytesIO(got.content)).size) == EDGE
        for path in ("0/examples/2", "1/examples/0", "4/examples/0", "99/examples/0", "-1/examples/-1"):
            assert ana.ask("GET", f"/api/classes/{path}").status_code == 404


def test_where_the_file_has_none_examples_are_what_people_have_labelled(tmp_path: Path) -> None:
    with served(tmp_path / "run", initial=30) as app:
        ana = app.sign_in("ana")
        (before,) = ana.get("/api/guide?classes=2")["classes"]
        assert before == {"cls": 2, "description": None, "examples": [], "labelled": True}
        assert ana.get("/api/classes")["about"] == []
        given: dict[int, list[str]] = {}
        while asked := ana.questions(5):
            for question in asked:
                ana.answer(question, truth(question))
                given.setdefault(truth(question), []).append(question["item"]["key"])
        for one in ana.get("/api/guide?classes=0,1,2,3,4")["classes"]:
            assert [example["key"] for example in one["examples"]] == given[one["cls"]][:4]
        first = ana.get("/api/answers?limit=1000")["answers"][-1]
        cls = first["path"][-1]
        ana.post("/api/answers", question=first["question"], kind="label", path=[(cls + 1) % 5], supersedes=first["id"])
        (one,) = ana.get(f"/api/guide?classes={cls}")["classes"]
        assert [example["key"] for example in one["examples"]] == given[cls][1:5]  # what was taken back is no example


def test_guidelines_are_read_anew_and_a_file_that_goes_says_so(tmp_path: Path) -> None:
    text = tmp_path / "guidelines.md"
    text.write_text("# Rules")
    with served(tmp_path / "run") as app:
        guided(app, text)
        ana = app.sign_in("ana")
        assert ana.get("/api/guide")["guidelines"] == {"text": "# Rules", "markdown": True}
        text.write_text("# Other rules")
        assert ana.get("/api/guide")["guidelines"]["text"] == "# Other rules"
        text.unlink()
        gone = ana.get("/api/guide")["guidelines"]
        assert gone == {"text": f"guidelines: there is no file {text}.", "markdown": False}


def test_nobody_sees_it_without_an_account_and_what_is_no_number_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "run") as app:
        assert app.client.get("/api/guide").status_code == 401
        assert app.client.get("/api/classes/0/examples/0").status_code == 401
        assert app.sign_in("ana").ask("GET", "/api/guide?classes=a").status_code == 422


@pytest.mark.parametrize(
    "name", [".hidden.txt", "key.pem", "gone.md", ".ssh/more/known.txt", "link.md", "large.txt", "latin.txt"]
)
def test_what_is_no_text_for_people_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / ".ssh" / "more").mkdir(parents=True)
    for file in (".hidden.txt", "key.pem", ".ssh/more/known.txt"):
        (tmp_path / file).write_text("a secret")
    (tmp_path / "link.md").symlink_to(tmp_path / "key.pem")
    (tmp_path / "large.txt").write_text("x" * (257 << 10))
    (tmp_path / "latin.txt").write_bytes("für".encode("latin-1"))
    with pytest.raises(ShortlistError, match="guidelines: ") as error:
        read_guidelines(tmp_path / name, tmp_path)
    assert "secret" not in str(error.value)


def test_a_picture_that_has_become_a_link_is_not_shown(tmp_path: Path) -> None:
    with served(tmp_path / "run", dataset=described(tmp_path)) as app:
        ana = app.sign_in("ana")
        other = tmp_path / "private.png"
        Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(other)
        shown = tmp_path / "classes" / "shown.png"
        shown.unlink()
        shown.symlink_to(other)
        got = ana.ask("GET", "/api/classes/0/examples/0")
        assert (got.status_code, got.json()) == (404, {"error": "shown.png: it is no longer the file that it was"})
