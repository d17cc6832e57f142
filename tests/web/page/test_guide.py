"""Beside the options: what a class is, and the guide that one key opens."""

from __future__ import annotations

import pytest

from tests.web.page.conftest import Visit
from tests.web.page.stub import World
from tests.web.page.test_page import CAT, DOG, FOX, hits, said, until
from tests.web.page.worlds import ANIMALS, animals, question

EVIL = '<img src=x onerror="document.title=1">'
ABOUT = [f"What {animal} is." for animal in ANIMALS]


def test_descriptions_stand_below_the_names_of_options_and_of_hits(visit: Visit) -> None:
    page = visit(animals(about=ABOUT))
    assert page.locator("#options .about").all_inner_texts() == ["What cat is.", "What dog is.", "What fox is."]
    assert page.locator("#options .about").first.get_attribute("title") == "What cat is."
    page.keyboard.press("0")
    assert hits(page)[0] == "ant"
    assert page.locator("#hits .about").first.inner_text() == "What ant is."


def test_a_long_description_takes_a_line_until_it_is_looked_at(visit: Visit) -> None:
    page = visit(animals(about=["many words " * 25] * len(ANIMALS)))
    first = page.locator("#options .option").first
    low = first.locator(".about").bounding_box()
    page.keyboard.press("Tab")  # to the order
    page.keyboard.press("Tab")  # to the guide
    page.keyboard.press("Tab")
    high = first.locator(".about").bounding_box()
    assert low is not None
    assert high is not None
    assert high["height"] > 3 * low["height"]


def test_without_descriptions_nothing_stands_there(visit: Visit) -> None:
    assert visit(animals()).locator(".about").count() == 0


def test_one_key_opens_the_guide_about_the_classes_that_are_shown(visit: Visit) -> None:
    guidelines = {"text": "# Rules\n\nTake the *largest*.", "markdown": True}
    pictures = [{"kind": "image", "src": f"/api/items/{n}", "key": f"photos/{n:04d}.png"} for n in (1, 7, 8, 9)]
    texts = [{"kind": "text", "text": "a fox", "key": None}]
    page = visit(animals(about=ABOUT, guidelines=guidelines, examples={CAT: pictures, FOX: texts}))
    page.keyboard.press("g")
    page.wait_for_selector("#guide-classes img")
    assert page.inner_text("#guide-guidelines h3") == "Rules"
    assert page.inner_text("#guide-guidelines em") == "largest"
    assert page.locator("#guide-classes h3").all_inner_texts() == ["cat", "dog", "fox"]
    shown = page.locator("#guide-classes img").evaluate_all("all => all.map((img) => img.getAttribute('src'))")
    assert shown == [f"/api/items/{n}" for n in (7, 8, 9)]  # the item that is asked about is no example
    assert page.inner_text("#guide-classes q").strip('“”"') == "a fox"
    page.keyboard.press("1")  # behind it nothing is answered
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert page.inner_text("#item-key") == "photos/0001.png"


def test_the_guide_of_a_search_is_about_its_hits(visit: Visit) -> None:
    page = visit(animals(about=ABOUT))
    page.keyboard.press("0")
    page.keyboard.type("bea")
    page.keyboard.press("Alt+g")
    page.wait_for_selector("#guide-classes h3")
    assert page.locator("#guide-classes h3").all_inner_texts()[:2] == ["bear", "beaver"]
    page.keyboard.press("Escape")
    assert page.input_value("#query") == "bea"


def test_a_click_opens_it_and_nothing_known_is_said(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, classes=[DOG], cuts=[1])])
    page = visit(world)
    page.click("#guide")
    page.wait_for_selector("#guide-classes >> text=Nothing is known of it yet.")
    page.click("#guide-dialog >> text=Close")
    page.keyboard.press("1")
    until(lambda: said(world) == [(1, "label", [DOG])])


def test_a_guide_that_cannot_be_had_says_so(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    world.refuse_all = 404
    page.keyboard.press("g")
    page.wait_for_selector("#guide-words >> text=Not now.")
    world.refuse_all = 0


@pytest.mark.parametrize("markdown", [True, False])
def test_markup_in_descriptions_guidelines_and_examples_is_text(visit: Visit, markdown: bool) -> None:
    examples = {CAT: [{"kind": "text", "text": EVIL, "key": None}]}
    guide = {"text": EVIL, "markdown": markdown}
    page = visit(animals(about=[EVIL] * len(ANIMALS), guidelines=guide, examples=examples))
    page.keyboard.press("g")
    page.wait_for_selector("#guide-classes q")
    assert page.inner_text("#guide-guidelines").strip() == EVIL
    assert page.locator("#guide-dialog img").count() == 0
    assert page.title() != "1"
