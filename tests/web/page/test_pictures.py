"""The page in every state and size: no sideways scrolling, nothing too small to hit, and a picture to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.chromium import PHONE, faults, overflow
from tests.web.conftest import Picture
from tests.web.page.conftest import Visit
from tests.web.page.stub import World
from tests.web.page.worlds import ANIMALS, animals, conventional, features_item, question, text_item

if TYPE_CHECKING:
    from playwright.sync_api import Page

DESKTOP = {"viewport": {"width": 1280, "height": 800}}

GUIDELINES = """# What is asked

Say which animal is **largest** in the picture.

- a drawing counts as the animal that is drawn
- *half* an animal counts

Anything else: `X`.
"""

LONG_TEXT = "The board met on Thursday to weigh the offer for the grain terminal.\n\n" + 40 * (
    "Shares rose on the news, though traders said that the price left little room for a rival bid. "
)

SIZES: dict[str, Any] = {"desktop": DESKTOP, "phone": PHONE}


def many() -> World:
    return World(names=ANIMALS, questions=[question(1, classes=list(range(29)), cuts=[29])], role="owner")


def five_hundred() -> World:
    names = [f"{animal} {i:02d}" for i in range(10) for animal in ANIMALS[:50]]
    return World(names=names, questions=[question(1, order=[73, 11, 402, 327])])


def all_classes() -> World:
    everything = question(1, classes=[], cuts=[], order=[ANIMALS.index(n) for n in ("red fox", "fox", "dog", "cat")])
    return World(names=ANIMALS, questions=[everything])


def described() -> World:
    about = [
        f"What {animal} is, in a sentence that takes some room beside a name. {7 * 'More. '}" for animal in ANIMALS
    ]
    guide = {"text": GUIDELINES, "markdown": True}
    pictures = [{"kind": "image", "src": f"/api/items/{n}", "key": str(n)} for n in range(7, 11)]
    quotes = [{"kind": "text", "text": "Why was I charged twice?", "key": "b77/9"}]
    shown = {11: pictures, 17: quotes}
    return World(names=ANIMALS, questions=[question(1)], about=about, guidelines=guide, examples=shown)


def texts() -> World:
    return World(names=ANIMALS, questions=[question(1, item=text_item("r52/17", LONG_TEXT))])


def sentence() -> World:
    return World(names=ANIMALS, questions=[question(1, item=text_item("b77/3", "Why was I charged for my transfer?"))])


def paragraph() -> World:
    words = "I topped up my card this morning, and the app still says that it is pending. " * 4
    return World(names=ANIMALS, questions=[question(1, item=text_item("b77/4", words))])


def vectors() -> World:
    values = [((i * 37) % 41 - 20) / 20 for i in range(64)]
    return World(names=ANIMALS, questions=[question(1, item=features_item("row 412", values))])


def long_names() -> World:
    names = ["Donaudampfschifffahrtsgesellschaftskapitän" * 3, "a class with rather many words in its name " * 3, "c"]
    return World(names=names, questions=[question(1, classes=[0, 1], cuts=[2], item=text_item("k" * 200, "w" * 900))])


def over() -> World:
    return animals(0, state="over", ending="the budget of 2,000 bits is spent")


def training() -> World:
    return animals(0, state="working", doing="training on 500 labels")


def press(*keys: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for key in keys:
            page.keyboard.press(key)

    return act


SCENES: dict[str, tuple[Callable[[], World], str, Callable[[Page], None]]] = {
    "question": (animals, "#question[data-ready=true]", press("1")),
    "search": (animals, "#question[data-ready=true]", press("0", "b", "e")),
    "search-500": (five_hundred, "#question[data-ready=true]", press("0")),
    "many": (many, "#question[data-ready=true]", press()),
    "described": (described, "#question[data-ready=true]", press()),
    "described-search": (described, "#question[data-ready=true]", press("0", "ArrowDown")),
    "guide": (described, "#question[data-ready=true]", press("g")),
    "all-classes": (all_classes, "#question[data-ready=true]", press()),
    "few-classes": (lambda: conventional(ANIMALS[:12]), "#question[data-ready=true]", press()),
    "text": (texts, "#question[data-ready=true]", press()),
    "text-short": (sentence, "#question[data-ready=true]", press()),
    "text-middle": (paragraph, "#question[data-ready=true]", press()),
    "zoomed": (animals, "#question[data-ready=true]", press("+", "+", "+", "ArrowLeft", ".", ".")),
    "features": (vectors, "#question[data-ready=true]", press()),
    "long-names": (long_names, "#question[data-ready=true]", press()),
    "undo": (animals, "#question[data-ready=true]", press("2", "Backspace")),
    "waiting": (training, "#waiting:not([hidden])", press()),
    "ending": (over, "#ending:not([hidden])", press()),
    "broken": (lambda: animals(broken_items={"1"}), "#item-body .item-failed", press()),
    "offline": (lambda: animals(failing=10**6), "#question[data-ready=true]", press("1", "2")),
    "refused": (lambda: animals(refuse_all=401), "#waiting >> text=You are signed out", press()),
    "nothing-to-undo": (animals, "#question[data-ready=true]", press("Backspace")),
    "help": (animals, "#question[data-ready=true]", press("?")),
    "note": (animals, "#question[data-ready=true]", press("n")),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_fits_and_axe_finds_nothing(visit: Visit, picture: Picture, scene: str, size: str) -> None:
    page = at(visit, scene, size)
    picture(page, f"label-{scene}-{size}")
    assert overflow(page) == 0
    assert too_small(page) == []
    assert faults(page, "moderate", "serious", "critical") == []
    if size == "desktop":
        page.emulate_media(color_scheme="dark")
        picture(page, f"label-{scene}-dark")
        assert faults(page, "moderate", "serious", "critical") == [], "in the dark"


def at(visit: Visit, scene: str, size: str) -> Page:
    world, shown, act = SCENES[scene]
    page = visit(world(), shown, **SIZES[size])
    page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?", where answers wait
    act(page)
    page.wait_for_timeout(200)
    return page


def too_small(page: Page) -> list[str]:
    """Targets of less than 44 pixels in either direction, but for links in a line of text."""
    return list(
        page.evaluate("""() => [...document.querySelectorAll(".option, .action, .hit, .button, #query, nav a")]
            .filter((e) => e.getClientRects().length)
            .filter((e) => { const r = e.getBoundingClientRect(); return r.height < 43.5 || r.width < 43.5; })
            .map((e) => e.textContent.trim())""")
    )
