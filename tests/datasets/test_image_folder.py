"""ImageFolder: what counts as an item, every image mode, and files that cannot be read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from shortlist.datasets.image_folder import ImageFolder, header_problem
from shortlist.types import ShortlistError

Pixels: TypeAlias = npt.NDArray[np.uint8]


def save(path: Path, colour: str = "red", size: tuple[int, int] = (8, 8)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def pets(root: Path) -> Path:
    for name in ("dog/2.png", "dog/10.JPG", "cat/a b.webp", "cat/ż.bmp", "loose.gif"):
        save(root / name)
    return root


def only(root: Path, image: Image.Image, name: str = "a.png", size: int = 8, **options: Any) -> Pixels:
    """The pixels of one image, read from a folder of two classes."""
    (root / "one").mkdir(parents=True)
    (root / "two").mkdir()
    image.save(root / "one" / name, **options)
    images: Pixels = ImageFolder(root, size=size).inputs
    assert images.shape == (1, size, size, 3)
    assert images.dtype == np.uint8
    return images.reshape(images.shape[1:])


def test_keys_classes_and_labels(tmp_path: Path) -> None:
    folder = ImageFolder(pets(tmp_path))
    assert folder.keys == ("cat/a b.webp", "cat/ż.bmp", "dog/10.JPG", "dog/2.png", "loose.gif")
    assert folder.classes == ("cat", "dog")
    assert folder.labels.tolist() == [0, 0, 1, 1, -1]
    assert folder.kind == "images"
    assert folder.inputs.shape == (5, 32, 32, 3)
    assert folder.labelled().inputs.shape == (4, 32, 32, 3)


def test_hidden_files_folders_and_other_files_are_no_items(tmp_path: Path) -> None:
    pets(tmp_path)
    save(tmp_path / ".cache" / "x.png")
    save(tmp_path / "cat" / ".hidden.png")
    (tmp_path / "cat" / "notes.txt").write_text("")
    (tmp_path / "cat" / "folder.png").mkdir()
    folder = ImageFolder(tmp_path)
    assert len(folder) == 5
    assert folder.classes == ("cat", "dog")


def test_nothing_is_read_before_inputs_are_touched(tmp_path: Path) -> None:
    (pets(tmp_path) / "cat" / "broken.png").write_bytes(b"no image")
    folder = ImageFolder(tmp_path)
    assert len(folder.labelled()) == 5
    with pytest.raises(ShortlistError, match=r"cat/broken\.png: cannot be read as an image"):
        _ = folder.inputs


def test_truncated_file(tmp_path: Path) -> None:
    pets(tmp_path)
    whole = tmp_path / "dog" / "2.png"
    Image.effect_noise((64, 64), 50).save(whole)
    whole.write_bytes(whole.read_bytes()[:500])
    with pytest.raises(ShortlistError, match=r"dog/2\.png: cannot be read as an image"):
        _ = ImageFolder(tmp_path).inputs


def test_a_link_to_nowhere_is_refused_and_not_skipped(tmp_path: Path) -> None:
    (pets(tmp_path) / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    with pytest.raises(ShortlistError, match=r"cat/gone\.png: cannot be read"):
        _ = ImageFolder(tmp_path).inputs


@pytest.mark.parametrize(
    ("mode", "colour", "seen"),
    [
        ("1", 1, (255, 255, 255)),
        ("L", 90, (90, 90, 90)),
        ("LA", (90, 255), (90, 90, 90)),
        ("LA", (90, 0), (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
        ("RGB", (10, 20, 30), (10, 20, 30)),
        ("RGBA", (10, 20, 30, 255), (10, 20, 30)),
        ("RGBA", (10, 20, 30, 0), (255, 255, 255)),
        ("I;16", 90 * 256, (90, 90, 90)),
    ],
)
def test_every_png_mode_becomes_rgb(
    tmp_path: Path, mode: str, colour: int | tuple[int, ...], seen: tuple[int, int, int]
) -> None:
    assert only(tmp_path, Image.new(mode, (8, 8), colour))[4, 4].tolist() == list(seen)


def test_transparent_palette_entry(tmp_path: Path) -> None:
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 200, 0, 0])
    assert only(tmp_path, image, transparency=1)[4, 4].tolist() == [255, 255, 255]


def test_cmyk(tmp_path: Path) -> None:
    pixel = only(tmp_path, Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "a.jpg", quality=100)[4, 4]
    assert pixel[0] > 240
    assert pixel[1:].max() < 20


def test_wide_and_tall_images_are_cropped_in_the_middle(tmp_path: Path) -> None:
    wide = Image.new("RGB", (90, 30), "blue")
    wide.paste(Image.new("RGB", (30, 30), "red"), (30, 0))
    assert (only(tmp_path / "wide", wide) == (255, 0, 0)).all()
    tall = wide.transpose(Image.Transpose.ROTATE_90)
    assert (only(tmp_path / "tall", tall) == (255, 0, 0)).all()


def test_exif_orientation_is_honoured(tmp_path: Path) -> None:
    image = Image.new("RGB", (64, 64), "white")
    image.paste(Image.new("RGB", (64, 32), "black"), (0, 0))  # black on top as stored
    exif = Image.Exif()
    exif[0x0112] = 6  # turn clockwise to see it upright: black goes to the right
    pixels = only(tmp_path, image, "a.jpg", size=16, exif=exif, quality=95)
    assert pixels[:, 2].mean() > 200
    assert pixels[:, -3].mean() < 50


def test_a_large_jpeg_shows_what_a_png_shows(tmp_path: Path) -> None:
    gradient = Image.linear_gradient("L").resize((800, 600)).convert("RGB")
    for name in ("a/x.png", "b/x.jpg"):
        (tmp_path / name).parent.mkdir()
        gradient.save(tmp_path / name)
    png, jpeg = ImageFolder(tmp_path).inputs.astype(int)
    assert np.abs(png - jpeg).max() < 6


def test_test_folder(tmp_path: Path) -> None:
    save(tmp_path / "test" / "dog" / "9.png")
    folder = ImageFolder(pets(tmp_path / "train"), size=16, test=tmp_path / "test")
    assert folder.test_inputs is not None
    assert folder.test_inputs.shape == (1, 16, 16, 3)
    assert folder.test_labels is not None
    assert folder.test_labels.tolist() == [1]


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        ("fox/1.png", r"test/fox/1\.png: the training folder has no class 'fox'"),
        ("1.png", r"test/1\.png: a test image has to be in the folder of its class"),
    ],
)
def test_refused_test_folder(tmp_path: Path, image: str, sentence: str) -> None:
    save(tmp_path / "test" / image)
    with pytest.raises(ShortlistError, match=sentence):
        ImageFolder(pets(tmp_path / "train"), test=tmp_path / "test")


def test_refused_folders_and_sizes(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="nowhere: there is no such folder"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(ShortlistError, match=r"there are no images in it; expected .*CLASS"):
        ImageFolder(tmp_path)
    save(tmp_path / "cat" / "1.png")
    with pytest.raises(ShortlistError, match="there is only the class 'cat'"):
        ImageFolder(tmp_path)
    with pytest.raises(ShortlistError, match="image_folder: size is 0"):
        ImageFolder(tmp_path, size=0)


def test_missing_pillow_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ShortlistError, match=r"PIL is not installed; run: pip install 'shortlist-al\[images\]'"):
        ImageFolder(tmp_path)


# --- classes that are given ------------------------------------------------------------------------------------


def heap(root: Path) -> Path:
    for name in ("1.png", "2024/cat/2.png", "2024/x/3.JPG", "dog/4.webp", ".cache/5.png", "dog/.6.png"):
        save(root / name)
    (root / "notes.txt").write_text("")
    return root


def test_images_at_any_depth_have_no_label_where_the_classes_are_given(tmp_path: Path) -> None:
    folder = ImageFolder(heap(tmp_path), classes=["cat", "dog", "fox"])
    assert folder.keys == ("1.png", "2024/cat/2.png", "2024/x/3.JPG", "dog/4.webp")
    assert folder.classes == ("cat", "dog", "fox")
    assert folder.labels.tolist() == [-1] * 4
    assert folder.inputs.shape == (4, 32, 32, 3)
    assert [folder.file_of(i) for i in range(4)] == [tmp_path / key for key in folder.keys]
    labelled = ImageFolder(tmp_path, classes=["cat", "dog", "fox"], folder_labels=True)
    assert labelled.labels.tolist() == [-1, 0, -1, 1]


def test_classes_from_a_file_and_chosen_images(tmp_path: Path) -> None:
    heap(tmp_path / "images")
    (tmp_path / "classes.txt").write_text("dog\ncat\n")
    (tmp_path / "list.txt").write_text("dog/4.webp\n1.png\n")
    folder = ImageFolder(tmp_path / "images", classes=tmp_path / "classes.txt", keys=tmp_path / "list.txt")
    assert (folder.keys, folder.classes) == (("dog/4.webp", "1.png"), ("dog", "cat"))
    assert folder.spec() == {
        "name": "image_folder",
        "folder": str(tmp_path / "images"),
        "size": 32,
        "classes": ["dog", "cat"],
        "keys": str(tmp_path / "list.txt"),
    }


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [
        ("1.png\n9.png\n", r"list\.txt, line 2: there is no image '9\.png' in .*images"),
        ("1.png\n../secret.png\n", r"list\.txt, line 2: there is no image '\.\./secret\.png'"),
        ("1.png\n1.png\n", r"list\.txt: line 1 and line 2 are both the key '1\.png'"),
        ("", r"list\.txt: there are no names in it"),
    ],
)
def test_a_list_that_names_what_is_not_there(tmp_path: Path, listed: str, sentence: str) -> None:
    heap(tmp_path / "images")
    save(tmp_path / "secret.png")
    (tmp_path / "list.txt").write_text(listed)
    with pytest.raises(ShortlistError, match=sentence):
        ImageFolder(tmp_path / "images", classes=["cat", "dog"], keys=tmp_path / "list.txt")


def test_folders_that_are_no_classes(tmp_path: Path) -> None:
    with pytest.raises(
        ShortlistError, match=r"no folder with images is named after one of the 2 classes .* 'cat', 'do"
    ):
        ImageFolder(heap(tmp_path), classes=["ape", "bee"], folder_labels=True)
    with pytest.raises(ShortlistError, match="nowhere: there is no such folder"):
        ImageFolder(tmp_path / "nowhere", classes=["ape", "bee"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShortlistError, match=r"empty: there are no images in it, nor in its folders \(\.avif, \.bmp"):
        ImageFolder(tmp_path / "empty", classes=["ape", "bee"])


# --- files that cannot be read ---------------------------------------------------------------------------------


def test_what_cannot_be_read_is_left_black_and_remembered_where_that_is_wanted(tmp_path: Path) -> None:
    pets(tmp_path)
    (tmp_path / "cat" / "broken.png").write_bytes(b"no image")
    (tmp_path / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    folder = ImageFolder(tmp_path, size=8, strict=False)
    assert folder.unreadable == {}
    black = [key for key, image in zip(folder.keys, folder.inputs, strict=True) if not image.any()]
    assert black == ["cat/broken.png", "cat/gone.png"]
    assert list(folder.unreadable) == black
    assert folder.unreadable["cat/broken.png"].startswith("cannot be read as an image: cannot identify")
    assert folder.spec()["strict"] is False
    with pytest.raises(ShortlistError, match=r"cat/broken\.png: cannot be read as an image"):
        _ = ImageFolder(tmp_path, size=8).inputs


def test_the_header_of_a_file_tells_whether_it_is_an_image(tmp_path: Path) -> None:
    save(tmp_path / "good.png")
    (tmp_path / "empty.png").write_bytes(b"")
    assert header_problem(tmp_path / "good.png") is None
    for name in ("empty.png", "none.png"):
        assert f"{name}: cannot be read as an image" in (header_problem(tmp_path / name) or "")


def test_a_pipe_is_no_image_and_not_waited_for(tmp_path: Path) -> None:
    pets(tmp_path)
    os.mkfifo(tmp_path / "cat" / "pipe.png")
    folder = ImageFolder(tmp_path, size=8, strict=False)
    assert folder.inputs.shape[0] == len(folder.keys)
    assert "is no ordinary file" in folder.unreadable["cat/pipe.png"]
    assert "is no ordinary file" in (header_problem(tmp_path / "cat" / "pipe.png") or "")


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    pets(tmp_path)
    save(tmp_path / "cat" / "bad.png")
    os.rename(os.fsencode(tmp_path / "cat" / "bad.png"), os.fsencode(tmp_path / "cat") + b"/bad\xff.png")  # noqa: PTH104
    with pytest.raises(ShortlistError, match=r"'cat/bad\\udcff\.png' is no text \(not UTF-8\); rename it"):
        ImageFolder(tmp_path)
