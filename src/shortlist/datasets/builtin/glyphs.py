"""Characters in many fonts, turned, sheared and noisy: as many classes as a test of many classes needs."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays, Deferred
from shortlist.system.extras import require
from shortlist.system.progress import track
from shortlist.types import Ints, Rng, ShortlistError

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

# By name, so that a font that a later matplotlib adds changes no pixel. The first decides which characters there
# are. Computer Modern is left out: its files put other signs at the code points of ASCII symbols.
STYLES = {
    "DejaVuSans": ("", "-Bold", "-BoldOblique", "-Oblique"),
    "DejaVuSansMono": ("", "-Bold", "-BoldOblique", "-Oblique"),
    "DejaVuSerif": ("", "-Bold", "-BoldItalic", "-Italic"),
    "STIXGeneral": ("", "Bol", "BolIta", "Italic"),
}
FONTS = tuple(family + style for family, styles in STYLES.items() for style in styles)
LETTERS_DIGITS_SYMBOLS = frozenset({"Lu", "Ll", "Lt", "Lo", "Nd", "Nl", "No", "Sm", "Sc", "So"})
LEAST, MOST = 10, 2000  # classes
EM = 0.6  # of the canvas; no character of the first font runs over its edge

TURN = 0.12  # radians, either way
SHEAR = 0.1
SCALE = 0.1  # e**±, separately for width and height
SHIFT = 0.02  # of the image, either way

# The first number of an item's generator after the seed; orders of labels have streams of their own.
TRAIN, TEST, TRAIN_LABELS, TEST_LABELS = range(4)


class Glyphs(Arrays):
    """Grey images (N, size, size) of 10 to 2,000 characters in the 16 fonts that matplotlib ships for text.

    The same seed gives the same pixels, and item i is the same whatever the number of items. Every class has as
    many items as any other, give or take one. Pixels are drawn at the first touch of `.inputs`: 6,000 of them in
    0.8 s, 50,000 in 5.2 s, on one core.

    How far to turn, shear and blur was set so that it matters what is labelled: with 100 classes a logistic
    regression on the pixels (C=0.1, max_iter=200, converged or not) is right on 56%, 64%, 74% and 79% of the test
    items after 500, 1,000, 2,500 and 5,000 labels (means of seeds 0 to 2). A baseline, not the best a model can do.

    Parameters
    ----------
    classes, items, test_items : how many of each.
    size : of a picture, in pixels.
    seed : of everything that is drawn.
    noise : of the pixels.
    bare : classes are called by the character alone, "A", as people say it; otherwise "U+0041 A".

    >>> glyphs = Glyphs(classes=12, items=30, test_items=6)
    >>> glyphs.classes[9:], glyphs.inputs.shape, glyphs.inputs.dtype
    (('U+0039 9', 'U+0041 A', 'U+0042 B'), (30, 28, 28), dtype('uint8'))
    """

    def __init__(
        self,
        classes: int = 100,
        items: int = 5000,
        *,
        test_items: int = 1000,
        size: int = 28,
        seed: int = 0,
        noise: float = 0.1,
        bare: bool = False,
    ) -> None:
        require("PIL", "matplotlib", extra="images")
        if not LEAST <= classes <= MOST:
            raise ShortlistError(f"glyphs: classes is {classes}; it has to be from {LEAST} to {MOST}")
        least_values = {"items": (items, 1), "test_items": (test_items, 0), "size": (size, 8), "seed": (seed, 0)}
        for field, (value, least) in least_values.items():
            if value < least:
                raise ShortlistError(f"glyphs: {field} is {value}; it has to be at least {least}")
        if not 0 <= noise <= 1:
            raise ShortlistError(f"glyphs: noise is {noise}; it has to be from 0 to 1")
        characters = first_characters(classes)
        labels = balanced(classes, items, seed, TRAIN_LABELS)
        test_labels = balanced(classes, test_items, seed, TEST_LABELS)

        def drawn(labels: Ints, split: int) -> Deferred:
            return Deferred(lambda: draw(characters, labels, (seed, split), size, noise), (len(labels), size, size))

        super().__init__(
            drawn(labels, TRAIN),
            labels,
            classes=characters if bare else [f"U+{ord(character):04X} {character}" for character in characters],
            test_inputs=drawn(test_labels, TEST) if test_items else None,
            test_labels=test_labels if test_items else None,
            name="glyphs",
        )
        settings = {"classes": classes, "items": items, "test_items": test_items, "size": size, "seed": seed}
        self._rebuilt_from(**settings, noise=noise, bare=bare or None)


def balanced(classes: int, n: int, seed: int, stream: int) -> Ints:
    """(n,) labels in blocks that hold every class once, each block in an order of its own."""
    blocks = [np.random.default_rng([seed, stream, block]).permutation(classes) for block in range(-(-n // classes))]
    return np.concatenate([np.empty(0, np.int64), *blocks])[:n].astype(np.int64)


# --- characters ------------------------------------------------------------------------------------------------


def first_characters(n: int) -> list[str]:
    """The first n characters that look like none before them: Greek and Cyrillic А are the Latin A in this font."""
    chosen: dict[bytes, str] = {}  # by bitmap
    for character in candidates():
        bitmap = master(FONTS[0], character, 56)
        if bitmap.getbbox() is not None:
            chosen.setdefault(bitmap.tobytes(), character)
        if len(chosen) == n:
            break
    return list(chosen.values())


def candidates() -> list[str]:
    """Digits, ASCII letters, then every other letter, digit and symbol of the first font by code point."""
    signs = [chr(code) for code in sorted(code_points(FONTS[0]))]
    signs = [sign for sign in signs if unicodedata.category(sign) in LETTERS_DIGITS_SYMBOLS]
    return sorted(signs, key=lambda sign: 0 if "0" <= sign <= "9" else 1 if sign.isascii() and sign.isalpha() else 2)


# --- fonts -----------------------------------------------------------------------------------------------------


def font_file(font: str) -> str:
    import matplotlib

    return str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{font}.ttf")


@cache
def code_points(font: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(font_file(font)).get_charmap())


@cache
def sized(font: str, pixels: int) -> FreeTypeFont:
    from PIL import ImageFont

    # The basic layout is always there; raqm is not, and places signs a little differently.
    return ImageFont.truetype(font_file(font), pixels, layout_engine=ImageFont.Layout.BASIC)


def master(font: str, character: str, canvas: int) -> Image:
    """One character, upright, on its baseline: where it stands tells a comma from an apostrophe."""
    from PIL import Image, ImageDraw

    image = Image.new("L", (canvas, canvas))
    at = (canvas / 2, 0.7 * canvas)
    ImageDraw.Draw(image).text(at, character, fill=255, font=sized(font, round(EM * canvas)), anchor="ms")
    return image


def masters(character: str, canvas: int) -> list[Image]:
    """The character in every font that has it and does not leave it blank."""
    images = [master(font, character, canvas) for font in FONTS if ord(character) in code_points(font)]
    return [image for image in images if image.getbbox() is not None]


# --- items -----------------------------------------------------------------------------------------------------


def draw(
    characters: list[str], labels: Ints, stream: tuple[int, int], size: int, noise: float
) -> npt.NDArray[np.uint8]:
    """(N, size, size). An item's generator is its own, so no item depends on how many there are."""
    images = np.empty((len(labels), size, size), np.uint8)
    fonts = [masters(character, 2 * size) for character in characters]
    for row, label in enumerate(track(labels, total=len(labels), what="drawing glyphs")):
        rng = np.random.default_rng([*stream, row])
        font = fonts[label][rng.integers(len(fonts[label]))]
        images[row] = noisy(warped(font, size, rng), noise, rng)
    return images


def warped(image: Image, size: int, rng: Rng) -> npt.NDArray[np.uint8]:
    """Turned, sheared, stretched and shifted, at half the resolution of the master."""
    from PIL.Image import Resampling, Transform

    turn, shear, width, height, x, y = rng.uniform(-1, 1, 6) * (TURN, SHEAR, SCALE, SCALE, SHIFT, SHIFT)
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    back = np.diag(np.exp([-width, -height])) @ [[1, shear], [0, 1]] @ turned * (image.width / size)
    # Pillow asks where in the master a pixel comes from: centre to centre, less the shift.
    offset = image.width / 2 - back @ (np.array([0.5 + x, 0.5 + y]) * size)
    matrix = (*back[0], offset[0], *back[1], offset[1])
    return np.asarray(image.transform((size, size), Transform.AFFINE, matrix, Resampling.BILINEAR))


def noisy(ink: npt.NDArray[np.uint8], noise: float, rng: Rng) -> npt.NDArray[np.uint8]:
    """Paler or darker ink, and a grain of standard deviation `noise` (1: from white to black)."""
    contrast = rng.uniform(0.5, 1)
    grain = rng.standard_normal(ink.shape, np.float32) * np.float32(255 * noise)
    return np.clip(ink * np.float32(contrast) + grain, 0, 255).astype(np.uint8)
