"""Nothing leads to a file that is not the campaign's to show."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.image_folder import ImageFolder
from shortlist.web import app as web
from tests.web.serving import Person, Served, served
from tests.web.wire import Wire, wired

SECRET = b"root:x:0:0: a secret that nobody may see"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wired(tmp_path_factory.mktemp("wire") / "run") as made:
        yield made


# --- in addresses ----------------------------------------------------------------------------------------------

UP = (b"..", b"%2e%2e", b".%2e", b"%2E.", b"%252e%252e", b"%c0%ae%c0%ae", b"..%00", b"....")
SLASHES = (b"/", b"%2f", b"%5c", b"\\", b"%252f", b"%c0%af", b"//")


def ways_up(to: bytes) -> list[bytes]:
    return [(up + slash) * n + to for up in UP for slash in SLASHES for n in (1, 2, 9)]


@pytest.mark.parametrize(
    ("under", "to", "inside"),
    [
        (b"/static/", b"app.py", b"def label_app"),
        (b"/static/", b"templates/base.html", b"{% block"),
        (b"/static/", b"etc/passwd", b"root:"),
        (b"/static/x/", b"app.py", b"def label_app"),
        (b"/api/items/", b"etc/passwd", b"root:"),
        (b"/api/items/0/", b"people.db", b"SQLite format"),
        (b"/", b"etc/passwd", b"root:"),
        (b"/api/questions/", b"campaign.db", b"SQLite format"),
    ],
)
def test_no_way_up_leads_anywhere(wire: Wire, under: bytes, to: bytes, inside: bytes) -> None:
    for way in ways_up(to):
        told = wire.ask(b"GET " + under + way)
        assert told.status in (307, 400, 404, 405, 422), way
        assert inside not in told.body, way


def test_the_files_above_are_there(wire: Wire) -> None:
    """Otherwise that they are not found would say nothing."""
    assert "def label_app" in (web.STATIC.parent / "app.py").read_text()
    assert "{% block" in (web.STATIC.parent / "templates" / "base.html").read_text()
    assert wire.ask(b"GET /static/shared/base.js").status == 200
    assert wire.people.path.read_bytes().startswith(b"SQLite format")


@pytest.mark.parametrize(
    "path",
    [
        b"/static//etc/passwd",
        b"/static/%2fetc/passwd",
        b"/static/%2f%2fetc%2fpasswd",
        b"/static/file:///etc/passwd",
        b"/static/",
        b"/static/.",
        b"/static/shared/base.js%00.css",
        b"/people.db",
        b"/campaign.db",
        b"/campaign.toml",
        b"/api/items/people.db",
        b"/api/items//etc/passwd",
        b"/.git/config",
    ],
)
def test_no_address_names_a_file_of_this_machine(wire: Wire, path: bytes) -> None:
    told = wire.ask(b"GET " + path)
    assert told.status in (404, 422), told.body
    assert b"content-type: application/json" in told.head
    assert re.fullmatch(rb'{"error":"[^"]*"}', told.body)


@pytest.mark.parametrize("way", [b"http://evil.example/static/../app.py", b"http:///etc/passwd", b"*", b"//etc/passwd"])
def test_nor_does_a_whole_address_in_place_of_a_path(wire: Wire, way: bytes) -> None:
    told = wire.ask(b"GET " + way)
    assert told.status in (400, 404)
    assert b"root:" not in told.body


# --- in datasets -----------------------------------------------------------------------------------------------


class Named(Arrays):
    """Files whose names somebody has written into a list."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        labels = np.arange(len(names)) % 2
        super().__init__(np.zeros((len(names), 8, 8, 3), np.uint8), labels, classes=["a", "b"], keys=names)
        self.folder = folder

    def file_of(self, position: int) -> Path:
        return self.folder / self.keys[position]


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder of images with links that lead out of it, beside a folder with a secret."""
    folder, outside = tmp_path / "images", tmp_path / "outside"
    for made in (folder / "cat", folder / "dog", outside):
        made.mkdir(parents=True)
    for i in range(8):
        Image.new("RGB", (30, 20), (i, 0, 0)).save(folder / ("cat", "dog")[i % 2] / f"{i}.png")
    (outside / "secret.txt").write_bytes(SECRET)
    (outside / "secret.png").write_bytes(SECRET)
    (outside / "secret.svg").write_bytes(b'<svg xmlns="http://www.w3.org/2000/svg"><text>' + SECRET + b"</text></svg>")
    (outside / "secret.ps").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file\n" + SECRET
    )
    for name in ("secret.txt", "secret.png", "secret.svg", "secret.ps", "not there"):
        (folder / "cat" / f"link to {name}.png").symlink_to(outside / name)
    (folder / "cat" / "link to itself.png").symlink_to("link to itself.png")
    (folder / "cat" / "relative.jpg").symlink_to("../../outside/secret.txt")
    (folder / "evil").symlink_to(outside, target_is_directory=True)
    os.mkfifo(folder / "cat" / "pipe.png")
    return folder


def every_item(app: Served, person: Person) -> Iterator[tuple[str, Any]]:
    for position, key in enumerate(app.campaign.settings.dataset.keys):
        yield key, person.ask("GET", f"/api/items/{position}")


def test_a_link_out_of_the_folder_shows_no_secret(tmp_path: Path, images: Path) -> None:
    with served(tmp_path / "run", dataset=ImageFolder(images, size=8, strict=False), initial=2, budget=4) as app:
        told = dict(every_item(app, app.sign_in("ana")))
    assert len(told) > 14
    assert any("link to secret.txt" in key for key in told)
    for key, got in told.items():
        assert SECRET not in got.content
        assert str(tmp_path) not in got.text, key  # nor where things lie
        is_picture = re.fullmatch(r"(cat|dog)/\d\.png", key)
        assert got.status_code == (200 if is_picture else 404), key
        assert got.headers["content-type"] == ("image/png" if is_picture else "application/json"), key
        assert got.headers["x-content-type-options"] == "nosniff"


def test_a_picture_that_a_link_leads_to_is_shown_drawn_anew(tmp_path: Path, images: Path) -> None:
    """People keep images elsewhere and link to them; whatever else is in the file stays there."""
    whole = tmp_path / "outside" / "photo.png"
    Image.new("RGB", (30, 20), "red").save(whole)
    with whole.open("ab") as file:
        file.write(SECRET)
    (images / "cat" / "photo.png").symlink_to(whole)
    (images / "cat" / "pipe.png").unlink()
    with served(tmp_path / "run", dataset=ImageFolder(images, size=8, strict=False), initial=2, budget=4) as app:
        got = dict(every_item(app, app.sign_in("ana")))["cat/photo.png"]
    assert (got.status_code, got.headers["content-type"]) == (200, "image/png")
    assert SECRET not in got.content


def test_a_link_to_a_hidden_file_shows_nothing(tmp_path: Path, images: Path) -> None:
    """Not even a picture: who hides a file beside others does not mean it to be labelled."""
    (images / "cat" / "pipe.png").unlink()
    for hidden in (images / ".kept" / "photo.png", images / "cat" / ".photo.png", tmp_path / "outside" / ".photo.png"):
        hidden.parent.mkdir(exist_ok=True)
        Image.new("RGB", (30, 20), "red").save(hidden)
        (images / "dog" / f"hidden {len(hidden.parts)} {hidden.name[0]}{hidden.parent.name}.png").symlink_to(hidden)
    with served(tmp_path / "run", dataset=ImageFolder(images, size=8, strict=False), initial=2, budget=4) as app:
        told = [got for key, got in every_item(app, app.sign_in("ana")) if key.startswith("dog/hidden")]
    assert [got.status_code for got in told] == [404] * 3
    assert all("it leads to a hidden file, and those are not shown" in got.json()["error"] for got in told)


@pytest.mark.parametrize("name", ["../outside/secret.txt", "../outside/secret.png", "cat/../../outside/secret.ps"])
def test_a_name_that_leads_out_of_the_folder_shows_no_secret(tmp_path: Path, images: Path, name: str) -> None:
    names = [name, str(tmp_path / "outside" / "secret.txt"), "/etc/passwd", "/dev/zero", "cat/0.png", "dog/1.png"]
    with served(tmp_path / "run", dataset=Named(images, names), initial=2, budget=4) as app:
        told = list(every_item(app, app.sign_in("ana")))
    assert [got.status_code for _, got in told] == [404] * 4 + [200] * 2
    assert not any(SECRET in got.content or b"root:" in got.content for _, got in told)


def test_a_file_that_is_gone_is_missed_kindly(tmp_path: Path, images: Path) -> None:
    with served(tmp_path / "run", dataset=ImageFolder(images, size=8, strict=False), initial=2, budget=4) as app:
        ana = app.sign_in("ana")
        position = app.campaign.settings.dataset.keys.index("cat/0.png")
        (images / "cat" / "0.png").unlink()
        got = ana.ask("GET", f"/api/items/{position}")
        assert (got.status_code, got.json()) == (404, {"error": "cat/0.png: there is no such file any more"})


@pytest.mark.parametrize("number", ["-1", "60", str(2**31), str(2**63), str(2**64), "9" * 400])
def test_an_item_that_there_is_not(tmp_path: Path, number: str) -> None:
    pixels = np.zeros((60, 8, 8), np.uint8)
    dataset = Arrays(pixels, np.arange(60) % 5, classes=list("abcde"))
    with served(tmp_path / "run", dataset=dataset) as app:
        ana = app.sign_in("ana")
        assert ana.ask("GET", "/api/items/59").status_code == 200
        assert ana.ask("GET", f"/api/items/{number}").status_code == 404


@pytest.mark.parametrize("number", ["1.5", "1e3", "0x1", "١x", "", "NaN", "9" * 9999])
def test_an_item_that_is_no_number(tmp_path: Path, number: str) -> None:
    with served(tmp_path / "run") as app:
        assert app.sign_in("ana").ask("GET", f"/api/items/{number}").status_code in (404, 422)
