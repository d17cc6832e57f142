"""Pictures cost what they have to: some are too large, few are drawn at a time, and each once."""

from __future__ import annotations

import asyncio
import io
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_matrix

from shortlist.datasets import image_folder
from shortlist.datasets.arrays import Arrays
from shortlist.datasets.image_folder import LARGE, MOST_PIXELS, ImageFolder, affordable
from shortlist.types import ShortlistError
from shortlist.web import items
from shortlist.web.items import EDGE, MOST_NUMBERS, Pictures, Unreadable, png, view


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(6):
        Image.new("RGB", (40, 30), (40 * i, 0, 0)).save(tmp_path / f"{i}.tif")
    return tmp_path


class Watched:
    """The real conversion, with how often it was done and how many times at once."""

    def __init__(self) -> None:
        self.done, self.now, self.most, self.lock = list[str](), 0, 0, threading.Lock()
        self.convert = items.redrawn
        self.may_go_on = threading.Event()

    def __call__(self, path: Path) -> bytes:
        with self.lock:
            self.done.append(path.name)
            self.now += 1
            self.most = max(self.most, self.now)
        assert self.may_go_on.wait(60)
        with self.lock:
            self.now -= 1
        return self.convert(path)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    found = Watched()
    monkeypatch.setattr(items, "redrawn", found)
    yield found
    found.may_go_on.set()


def test_who_asks_meanwhile_gets_the_same_and_few_are_drawn_at_a_time(folder: Path, watched: Watched) -> None:
    async def look() -> list[items.Picture]:
        pictures = Pictures(ImageFolder(folder, classes=["a", "b"]))
        asked = [asyncio.create_task(pictures.of(i % 6)) for i in range(30)]
        gone = asyncio.create_task(pictures.of(0))
        while watched.most < 2:
            await asyncio.sleep(0)
        gone.cancel()
        watched.may_go_on.set()
        shown = await asyncio.gather(*asked)
        assert await pictures.of(5) == shown[5]
        return shown

    shown = asyncio.run(look())
    assert sorted(watched.done) == [f"{i}.tif" for i in range(6)]
    assert watched.most == 2
    assert [Image.open(io.BytesIO(data)).getpixel((5, 5)) for data, _ in shown[:6]] == [
        (40 * i, 0, 0) for i in range(6)
    ]


def test_only_so_much_is_kept(folder: Path, watched: Watched) -> None:
    watched.may_go_on.set()
    pictures = Pictures(ImageFolder(folder, classes=["a", "b"]), most=300)

    async def look() -> None:
        for i in (0, 1, 2, 3, 4, 5, 5, 0):
            await pictures.of(i)

    asyncio.run(look())
    assert 0 < sum(len(data) for data, _ in pictures._kept.values()) <= 300
    assert watched.done == [f"{i}.tif" for i in (0, 1, 2, 3, 4, 5, 0)]  # the last was there, the first no more


def test_what_browsers_show_is_sent_as_it_is_and_arrays_are_drawn(tmp_path: Path) -> None:
    Image.new("RGB", (4, 3), "red").save(tmp_path / "a.png")
    pixels = np.zeros((1, 8, 8), np.uint8)

    async def look() -> list[items.Picture]:
        arrays = Arrays(pixels, [0], classes=["a", "b"])
        return [await Pictures(dataset).of(0) for dataset in (ImageFolder(tmp_path, classes=["a", "b"]), arrays)]

    assert asyncio.run(look()) == [((tmp_path / "a.png").read_bytes(), "image/png"), (png(pixels[0]), "image/png")]


# --- too many pixels -------------------------------------------------------------------------------------------

TOO_MANY = "it has 169 million pixels, and at most 100 million are read; scale it down"


@pytest.mark.filterwarnings("ignore:Image size")  # Pillow's own remark
@pytest.mark.parametrize("ending", ["tif", "png"])
def test_an_image_of_a_few_kilobytes_with_169_million_pixels_is_not_read(tmp_path: Path, ending: str) -> None:
    """Neither for a page, nor for the model."""
    path = tmp_path / f"huge.{ending}"
    huge = Image.new("1", (13_000, 13_000))
    huge.save(path, **({"compression": "group4"} if ending == "tif" else {}))
    assert path.stat().st_size < 300_000
    Image.new("RGB", (40, 30)).save(tmp_path / "small.png")
    with pytest.raises(Unreadable, match=f"huge.{ending}: {TOO_MANY}"):
        items.redrawn(path)
    dataset: Any = ImageFolder(tmp_path, classes=["a", "b"], strict=False, size=8)
    assert dataset.inputs.shape == (2, 8, 8, 3)
    assert dataset.unreadable == {path.name: f"cannot be read as an image: {TOO_MANY}"}


def test_a_large_one_is_drawn_no_larger_than_a_screen_needs(tmp_path: Path) -> None:
    path = tmp_path / "large.tif"
    Image.new("1", (2 * EDGE, 1000)).save(path, compression="group4")
    assert Image.open(io.BytesIO(items.redrawn(path))).size == (EDGE, 500)


def test_large_ones_are_decoded_one_at_a_time() -> None:
    for pixels, alone in ((LARGE, False), (LARGE + 1, True)):
        with affordable(_Sized(pixels)):  # type: ignore[arg-type]
            assert image_folder._large.locked() is alone
    assert not image_folder._large.locked()
    with pytest.raises(ShortlistError, match="scale it down"), affordable(_Sized(MOST_PIXELS + 1)):  # type: ignore[arg-type]
        pass


class _Sized:
    def __init__(self, pixels: int) -> None:
        self.width, self.height = pixels, 1


def test_a_png_is_what_the_format_asks_for() -> None:
    """Methods of compression, filtering and interlacing are 0, the only ones there are; decoders look away, browsers
    need not."""
    rng = np.random.default_rng(0)
    for shape, colours in (((2, 3), 0), ((3, 2, 3), 2)):
        pixels = rng.integers(256, size=shape, dtype=np.uint8)
        drawn = png(pixels)
        assert struct.unpack(">I4sIIBBBBB", drawn[8:29]) == (13, b"IHDR", shape[1], shape[0], 8, colours, 0, 0, 0)
        with Image.open(io.BytesIO(drawn)) as image:
            image.load()
            np.testing.assert_array_equal(np.asarray(image), pixels)


def test_numbers_are_drawn_as_far_as_anybody_looks() -> None:
    rows = np.arange(2 * (MOST_NUMBERS + 1)).reshape(2, -1) / 3
    dense, sparse = Arrays(rows, [0, 1]), Arrays(csr_matrix(rows), [0, 1])
    for dataset in (dense, sparse):
        shown = view(dataset, 1)
        assert (shown["kind"], shown["key"], len(shown["values"])) == ("features", dataset.keys[1], MOST_NUMBERS)
        assert shown["values"][0] == 171.0
        assert shown["values"][1] == 171.333333
    assert view(Arrays(["hello", "bye"], [0, 1]), 1)["text"] == "bye"
    images = Arrays(np.zeros((2, 2, 2), np.uint8), [0, 1])
    assert view(images, 1) == {"key": images.keys[1], "kind": "image", "src": "/api/items/1"}


@pytest.mark.parametrize("position", [-1, 2])
def test_an_item_that_there_is_not(position: int) -> None:
    for dataset in (Arrays(np.zeros((2, 2, 2), np.uint8), [0, 1]), Arrays(["a", "b"], [0, 1])):
        with pytest.raises(Unreadable, match=f"item {position}: there is no such picture"):
            asyncio.run(Pictures(dataset).of(position))


def test_those_asked_for_last_are_kept(folder: Path, watched: Watched) -> None:
    watched.may_go_on.set()

    async def look() -> list[int]:
        pictures = Pictures(ImageFolder(folder, classes=["a", "b"]))
        sizes = [len((await pictures.of(i))[0]) for i in (0, 1)]
        pictures.most = sum(sizes)  # room for two
        for i in (0, 2):
            await pictures.of(i)
        return sorted(pictures._kept)

    assert asyncio.run(look()) == [0, 2]
    assert watched.done == ["0.tif", "1.tif", "2.tif"]


@pytest.mark.parametrize(("name", "kind"), [("a.png", "png"), ("b.JPG", "jpeg"), ("c.webp", "webp"), ("d.gif", "gif")])
def test_a_file_that_browsers_show_is_not_drawn_anew(tmp_path: Path, name: str, kind: str) -> None:
    """Not even as what looks the same: it would take time, and lose what the file is."""
    Image.new("RGB", (4, 3), "red").save(tmp_path / name, kind)
    with (tmp_path / name).open("ab") as file:
        file.write(b"and more")
    shown = asyncio.run(Pictures(ImageFolder(tmp_path, classes=["a", "b"])).of(0))
    assert shown == ((tmp_path / name).read_bytes(), f"image/{kind}")
