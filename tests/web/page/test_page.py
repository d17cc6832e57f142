"""The labelling page in a browser, against a server that only knows the contract."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.web.page.conftest import Visit
from tests.web.page.stub import Json, World
from tests.web.page.worlds import ANIMALS, animals, conventional, question, text_item

if TYPE_CHECKING:
    from playwright.sync_api import Page

CAT, DOG, FOX, ZEBRA = (ANIMALS.index(name) for name in ("cat", "dog", "fox", "zebra"))


def until(true: Callable[[], object], seconds: float = 6.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def press(page: Page, *keys: str) -> None:
    """Each when its item can be seen: what nobody has seen is not answered."""
    for key in keys:
        page.wait_for_selector("#question[data-ready=true]")
        page.keyboard.press(key)


def said(world: World) -> list[tuple[int, str, list[int]]]:
    return [(a["question"], a["kind"], a["path"]) for a in world.answers]


def key_of_item(page: Page) -> str:
    return page.inner_text("#item-key", timeout=8000) or page.text_content("#item-key") or ""


def options(page: Page) -> list[str]:
    return page.locator("#options .option").all_inner_texts()


def hits(page: Page) -> list[str]:
    return page.locator("#hits .hit-name").all_inner_texts()


def last(world: World) -> Json:
    return world.answers[-1]


# ---- answering


def test_options_come_by_probability_each_with_its_key(visit: Visit) -> None:
    page = visit(animals())
    assert [text.split("\n") for text in options(page)] == [["1", "cat"], ["2", "dog"], ["3", "fox"]]
    assert page.inner_text("#none").split("\n") == ["0", "None of the above"]


def test_one_key_answers_and_shows_the_next_item_before_the_server_has_heard_of_it(visit: Visit) -> None:
    world = animals(delay=1.0)
    page = visit(world)
    page.keyboard.press("2")
    assert key_of_item(page) == "photos/0002.png"
    assert page.get_attribute("#question", "data-ready") == "true"  # its picture was there already
    assert page.inner_text("#saving-words") == "Saving…"
    assert world.answers == []
    until(lambda: said(world) == [(1, "label", [DOG])])
    page.wait_for_selector("#saving[data-phase=saved]")


def test_a_whole_round_by_keys_alone(visit: Visit) -> None:
    world = animals(12)
    page = visit(world)
    for number in range(12):
        page.wait_for_selector(f"#question[data-ready=true] >> text=photos/{number + 1:04d}.png")
        page.keyboard.press("123"[number % 3])
    until(lambda: len(world.answers) == 12)
    assert [a["path"] for a in world.answers] == [[(CAT, DOG, FOX)[i % 3]] for i in range(12)]
    page.wait_for_selector("#waiting:not([hidden])")


def test_a_click_answers(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.click("text=fox")
    until(lambda: said(world) == [(1, "label", [FOX])])


def test_after_none_comes_the_search_and_enter_takes_the_top_hit(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("0")
    page.keyboard.type("zeb")
    assert page.locator("#hits [aria-selected=true] .hit-name").inner_text() == "zebra"
    page.keyboard.press("Enter")
    until(lambda: said(world) == [(1, "label", [-1, ZEBRA])])
    assert len(last(world)["stage_seconds"]) == 2
    assert key_of_item(page) == "photos/0002.png"


def test_all_classes_come_most_probable_first_and_one_key_orders_them_by_name(visit: Visit) -> None:
    """Of the rest too; it stays so for the next question, and after a reload."""
    full = question(1, classes=[], cuts=[], order=[ZEBRA, CAT, FOX])
    world = World(names=ANIMALS, questions=[full, question(2, order=[ZEBRA, 0]), question(3)])
    page = visit(world)
    assert hits(page)[:5] == ["zebra", "cat", "fox", "ant", "ape"]
    assert page.inner_text("#hint") == "61 classes, most probable first."
    assert page.inner_text("#order").split() == ["By", "name", "O"]
    page.keyboard.press("Alt+o")
    assert hits(page)[:3] == ["ant", "ape", "badger"]
    assert page.inner_text("#hint") == "61 classes, by name."
    assert page.inner_text("#order-words") == "Most probable first"
    page.keyboard.type("zeb")
    page.keyboard.press("Enter")
    press(page, "0")
    assert hits(page)[:3] == ["ant", "ape", "badger"]
    page.reload()
    press(page, "0")
    assert hits(page)[:3] == ["ant", "ape", "badger"]
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    assert hits(page)[:3] == ["zebra", "ant", "ape"]
    until(lambda: said(world) == [(1, "label", [ZEBRA])])


def test_what_was_typed_stays_when_the_order_changes(visit: Visit) -> None:
    page = visit(World(names=ANIMALS, questions=[question(1, classes=[], cuts=[], order=[CAT])]))
    page.keyboard.type("ca")
    page.keyboard.press("Alt+o")
    assert page.input_value("#query") == "ca"
    assert set(hits(page)[:2]) == {"cat", "camel"}


def test_a_short_list_too_can_be_read_by_name(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, classes=[FOX, DOG, CAT], cuts=[3])])
    page = visit(world)
    assert [text.split("\n")[1] for text in options(page)] == ["fox", "dog", "cat"]
    page.keyboard.press("o")
    assert [text.split("\n")[1] for text in options(page)] == ["cat", "dog", "fox"]
    assert page.inner_text("#hint") == "By name."
    page.keyboard.press("1")
    until(lambda: said(world) == [(1, "label", [CAT])])


def test_before_a_model_classes_come_by_name_and_there_is_no_other_order(visit: Visit) -> None:
    names = ["item 10", "Zebra", "item 9", "ant", "bee"] + [f"other {n}" for n in range(20)]
    page = visit(World(names=names, questions=[question(1, classes=[], cuts=[], order=None)]))
    assert hits(page)[:4] == ["ant", "bee", "item 9", "item 10"]
    assert page.inner_text("#hint") == "25 classes."
    assert not page.is_visible("#order")
    page.keyboard.press("Alt+o")
    page.wait_for_selector(".notice >> text=no model has looked at this item yet")


def test_numbers_take_the_first_hits_as_they_take_the_first_options(visit: Visit) -> None:
    everything = {"classes": [], "cuts": [], "order": [ZEBRA, CAT, FOX]}
    world = World(names=ANIMALS, questions=[question(n, **everything) for n in (1, 2, 3)])
    page = visit(world)
    assert page.locator("#hits .hit kbd").all_inner_texts() == [str(n) for n in range(1, 10)]
    press(page, "3")  # nothing is typed, and no animal has a number in its name
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0002.png")
    page.keyboard.type("do")
    page.keyboard.press("2")  # typed
    assert page.input_value("#query") == "do2"
    page.keyboard.press("Backspace")
    second = hits(page)[1]
    page.keyboard.press("Alt+2")
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0003.png")
    page.keyboard.press("Escape")
    press(page, "1")
    until(
        lambda: (
            said(world)
            == [(n, "label", [c]) for n, c in zip((1, 2, 3), (FOX, ANIMALS.index(second), ZEBRA), strict=True)]
        )
    )


def test_where_names_have_numbers_a_number_is_typed(visit: Visit) -> None:
    names = [f"road {n}" for n in range(30)]
    world = World(names=names, questions=[question(1, classes=[], cuts=[], order=[7, 3])])
    page = visit(world)
    assert page.locator("#hits .hit kbd").first.evaluate("e => getComputedStyle(e, '::before').content") == '"Alt "'
    page.keyboard.press("2")
    assert page.input_value("#query") == "2"
    page.fill("#query", "")
    page.keyboard.press("Alt+2")
    until(lambda: said(world) == [(1, "label", [3])])


def test_what_was_shown_or_ruled_out_is_not_found_again(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, rejected=[ZEBRA])])
    page = visit(world)
    page.keyboard.press("0")
    page.keyboard.type("zebra")
    assert page.inner_text("#hits-count") == "No class is called that."
    page.fill("#query", "cat")
    assert "cat" not in hits(page)


def test_enter_never_takes_what_only_comes_near(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("0")
    page.keyboard.type("zerba")
    assert hits(page) == ["zebra"]
    assert page.inner_text("#hits-count") == "No class is called that; 1 comes near. ↓ chooses."
    page.keyboard.press("Enter")
    assert page.input_value("#query") == "zerba"
    press(page, "ArrowDown", "Enter")
    until(lambda: said(world) == [(1, "label", [-1, ZEBRA])])


def test_enter_in_an_empty_search_takes_nothing_and_arrows_choose(visit: Visit) -> None:
    world = conventional(ANIMALS)
    page = visit(world)
    page.keyboard.press("Enter")
    assert key_of_item(page) == "photos/0001.png"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(lambda: said(world) == [(1, "label", [1])])


def test_a_later_cut_is_shown_as_buttons_again(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, classes=[3, 4, 5, 6], cuts=[2, 4])])
    page = visit(world)
    page.keyboard.press("0")
    assert [text.split("\n")[1] for text in options(page)] == [ANIMALS[5], ANIMALS[6]]
    page.keyboard.press("2")
    until(lambda: said(world) == [(1, "label", [-1, 6])])


def test_few_classes_are_buttons_from_the_start(visit: Visit) -> None:
    world = conventional(ANIMALS[:12])
    page = visit(world)
    assert [text.split("\n")[0] for text in options(page)] == [*"123456789", "A", "B", "C"]
    page.keyboard.press("b")
    until(lambda: said(world) == [(1, "label", [10])])


def test_letters_of_actions_are_never_options(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, classes=list(range(29)), cuts=[29])])
    page = visit(world)
    keys = [text.split("\n")[0] for text in options(page)]
    assert len(set(keys)) == 29
    assert not {"S", "N", "X", "U", "O", "G", "0"} & set(keys)


def test_where_nothing_follows_none_ends_the_question(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, classes=[CAT], cuts=[1], exhaustive=False)])
    page = visit(world)
    assert page.inner_text("#prompt") == "Is it this?"
    assert page.is_disabled("[data-action=nothing]")
    page.keyboard.press("0")
    until(lambda: said(world) == [(1, "none", [-1])])


def test_0_asks_for_the_other_classes_and_never_sets_an_item_aside(visit: Visit) -> None:
    """On a list, on all classes, and on a list with no class left below it."""
    everything: Json = {"classes": [], "cuts": []}
    no_more = {"classes": [0, 1], "cuts": [2], "rejected": [2, 3]}
    world = World(names=ANIMALS[:4], questions=[question(1, **everything), question(2, **no_more)])
    page = visit(world)
    for number in (1, 2):
        page.wait_for_selector(f"#question[data-ready=true] >> text=photos/{number:04d}.png")
        assert not page.is_visible("#none")
        page.keyboard.press("0")
        page.wait_for_selector(".notice >> text=All classes are shown. X says that it belongs to none of them.")
        page.click("text=OK")
        assert page.inner_text("#item-key") == f"photos/{number:04d}.png"
        page.keyboard.press("x")
    until(lambda: said(world) == [(1, "none", [-1]), (2, "none", [-1, -1])])
    assert len(last(world)["stage_seconds"]) == 1  # nobody has seen the second stage


def test_digits_are_answered_by_their_own_key_on_every_list(visit: Visit) -> None:
    digits = [str(i) for i in range(10)]
    full = [question(i, classes=[], cuts=[]) for i in (1, 2)]
    world = World(names=digits, questions=[*full, *(question(i, classes=[7, 0], cuts=[2]) for i in (3, 4, 5))])
    page = visit(world)
    press(page, "7", "0")
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0003.png")
    assert options(page) == ["7\n7", "0\n0"]
    assert page.inner_text("#none").split("\n") == ["A", "None of the above"]
    press(page, "3", "1")  # not on the list
    assert page.inner_text("#item-key") == "photos/0003.png"
    press(page, "0", "7", "a")
    page.wait_for_selector("text=Which of the others is it?")
    press(page, "3")
    until(lambda: len(said(world)) == 5)
    labels = [(1, [7]), (2, [0]), (3, [0]), (4, [7]), (5, [-1, 3])]
    assert said(world) == [(number, "label", path) for number, path in labels]


# ---- actions


def test_skip_not_any_class_and_cannot_read_it(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    press(page, "s", "x", "u")
    page.wait_for_selector("#question[data-ready=true]")
    page.click("[data-action=skip]")
    until(lambda: len(world.answers) == 4)
    assert said(world) == [(1, "skip", []), (2, "none", [-1, -1]), (3, "unreadable", []), (4, "skip", [])]


def test_while_letters_are_typed_alt_reaches_the_actions(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("0")
    page.keyboard.type("sun")
    assert page.input_value("#query") == "sun"
    page.keyboard.press("Alt+s")
    until(lambda: said(world) == [(1, "skip", [-1])])
    press(page, "0", "Alt+x")
    until(lambda: said(world)[1:] == [(2, "none", [-1, -1])])


def test_escape_clears_then_leaves_the_search_and_slash_returns(visit: Visit) -> None:
    page = visit(animals())
    page.keyboard.press("0")
    page.keyboard.type("ot")
    page.keyboard.press("Escape")
    assert page.input_value("#query") == ""
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "prompt"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.input_value("#query") == ""


def test_a_note_goes_with_the_answer_and_its_time_does_not_count(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("n")
    page.keyboard.type("1 blurred <b>")
    page.wait_for_timeout(700)
    page.keyboard.press("Control+Enter")
    assert page.inner_text("#note-words") == "Note ✓"
    page.keyboard.press("1")
    until(lambda: len(world.answers) == 1)
    assert last(world)["note"] == "1 blurred <b>"
    assert last(world)["stage_seconds"][0] < 0.6
    assert last(world)["wall_seconds"] > 0.7
    assert page.inner_text("#note-words") == "Note"


def test_help_says_which_letters_and_keys_do_nothing_behind_it(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("?")
    assert page.inner_text("#help-letters") == "A B C D E F H I J K L M P Q R T V W Y Z"
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    assert key_of_item(page) == "photos/0001.png"


def test_keys_alone_can_be_switched_off(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("?")
    page.uncheck("#single-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert key_of_item(page) == "photos/0001.png"
    page.keyboard.press("Alt+s")
    until(lambda: said(world) == [(1, "skip", [])])


def test_a_key_held_down_answers_once(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    for _ in range(4):
        page.keyboard.down("1")
    page.keyboard.up("1")
    page.wait_for_timeout(200)
    assert len(world.answers) == 1


# ---- undo


def test_undo_goes_back_a_stage_first(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("0")
    page.keyboard.press("Control+z")
    assert len(options(page)) == 3
    page.keyboard.press("1")
    until(lambda: said(world) == [(1, "label", [CAT])])
    assert len(last(world)["stage_seconds"]) == 1


def test_undo_across_several_answers_supersedes_the_right_one(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    press(page, *"123")
    until(lambda: len(world.answers) == 3)
    for _ in range(3):
        page.keyboard.press("Backspace")
        page.wait_for_selector("#review:not([hidden])")
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0001.png")
    assert page.inner_text("#review-words") == "You said: cat. Change it, or:"
    assert "your answer" in options(page)[0]
    page.keyboard.press("3")
    until(lambda: len(world.answers) == 4)
    assert (last(world)["question"], last(world)["supersedes"], last(world)["path"]) == (1, 100, [FOX])
    assert key_of_item(page) == "photos/0004.png"  # and on from where one was


def test_an_answer_that_is_still_on_its_way_can_be_changed(visit: Visit) -> None:
    world = animals(delay=0.5)
    page = visit(world)
    page.keyboard.press("1")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#review:not([hidden])")
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("2")
    until(lambda: len(world.answers) == 2)
    assert [(a["path"], a["supersedes"]) for a in world.answers] == [([CAT], None), ([DOG], 100)]


def test_undo_reaches_into_earlier_sessions(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("n")
    page.keyboard.type("odd")
    page.keyboard.press("Control+Enter")
    press(page, "1", "2")
    until(lambda: len(world.answers) == 2)
    page.reload()
    page.wait_for_selector("#question[data-ready=true]")
    for _ in range(2):
        page.keyboard.press("Backspace")
        page.wait_for_selector("#review:not([hidden])")
        page.wait_for_timeout(100)
    assert key_of_item(page) == "photos/0001.png"
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("3")
    until(lambda: len(world.answers) == 3)
    assert (last(world)["question"], last(world)["supersedes"], last(world)["note"]) == (1, 100, "odd")


def test_one_may_look_back_and_leave_everything_as_it_is(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("1")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#review:not([hidden])")
    page.keyboard.press("Escape")
    assert key_of_item(page) == "photos/0002.png"
    assert page.is_hidden("#review")
    page.wait_for_timeout(100)
    assert len(world.answers) == 1


def test_with_nothing_to_undo_it_says_so(visit: Visit) -> None:
    page = visit(animals())
    page.keyboard.press("Backspace")
    page.wait_for_selector("text=There is no earlier answer to change.")


def test_the_last_answer_can_be_changed_from_the_waiting_screen(visit: Visit) -> None:
    world = animals(1)
    page = visit(world)
    page.keyboard.press("1")
    page.wait_for_selector("#waiting:not([hidden])")
    page.click("#waiting-undo")
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("2")
    until(lambda: [a["path"] for a in world.answers] == [[CAT], [DOG]])
    page.wait_for_selector("#waiting:not([hidden])")


# ---- items


def test_small_pictures_grow_smoothly_to_a_size_to_look_at_and_fit_their_place(visit: Visit) -> None:
    page = visit(animals(), viewport={"width": 1280, "height": 800})  # 28 pixels wide, the next 320
    assert page.get_attribute("#item-body img", "alt") == "Item photos/0001.png"
    for _ in range(2):
        page.wait_for_selector("#question[data-ready=true]")
        assert page.eval_on_selector("#item-body img", "e => getComputedStyle(e).imageRendering") == "auto"
        assert size_of(page) == (400, 400)
        page.keyboard.press("1")
    page.set_viewport_size({"width": 1280, "height": 480})
    width, height = size_of(page)
    place = page.locator("#item-body").bounding_box()
    assert place is not None
    assert max(width, height) <= min(place["width"], place["height"])


def size_of(page: Page) -> tuple[float, float]:
    box = page.locator("#item-body img").bounding_box()
    assert box is not None
    return box["width"], box["height"]


def test_a_picture_can_be_looked_at_closer_by_keys(visit: Visit) -> None:
    page = visit(animals(), viewport={"width": 1280, "height": 800})
    press(page, "+", "+", "-", "=")
    assert size_of(page) == (625, 625)
    assert page.inner_text(".item-lens") == "Zoom 156 %"
    before = page.locator("#item-body img").bounding_box()
    press(page, *["ArrowLeft", "ArrowUp"] * 9)  # to the edge, and no further
    after = page.locator("#item-body img").bounding_box()
    assert before is not None
    assert after is not None
    assert [round(after[d] - before[d], 1) for d in ("x", "y")] == [112.5, 112.5]
    press(page, ".", ".")
    assert page.inner_text(".item-lens") == "Zoom 156 % · Brightness 156 %"
    press(page, "1")
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0002.png")
    assert page.inner_text(".item-lens") == "Brightness 156 %"  # the next one is whole
    assert size_of(page) == (400, 400)
    press(page, ",", ",", ",")
    assert page.inner_text(".item-lens") == "Brightness 80 %"
    press(page, "Home")
    assert page.text_content(".item-lens") == ""
    assert not page.eval_on_selector("#item-body img", "e => e.style.filter + e.style.transform")


def test_a_picture_is_zoomed_by_the_wheel_and_dragged(visit: Visit) -> None:
    page = visit(animals(), viewport={"width": 1280, "height": 800})
    page.hover("#item-body img")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.wait_for_selector(".item-lens >> text=Zoom 125 %")
    page.keyboard.up("Control")
    before = page.locator("#item-body img").bounding_box()
    assert before is not None
    x, y = before["x"] + 200, before["y"] + 200
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 10)
    page.mouse.up()
    page.mouse.move(x, y)
    after = page.locator("#item-body img").bounding_box()
    assert after is not None
    assert [round(after[d] - before[d]) for d in ("x", "y")] == [30, 10]


def test_a_text_has_a_box_that_fits_it_in_the_middle_and_a_long_one_scrolls(visit: Visit) -> None:
    sizes = []
    for text in ("Where is my card?", "My card has not come. " * 15, "many words " * 2000):
        world = World(names=ANIMALS, questions=[question(1, item=text_item("t", text))])
        page = visit(world, viewport={"width": 1280, "height": 800})
        place, box = (page.locator(f"#{name}").bounding_box() for name in ("item-body", "item-body > .item-text"))
        assert place is not None
        assert box is not None
        assert abs(place["x"] + place["width"] / 2 - box["x"] - box["width"] / 2) <= 1
        assert abs(place["y"] + place["height"] / 2 - box["y"] - box["height"] / 2) <= 1
        sizes.append((box["height"] / place["height"], page.eval_on_selector(".item-text", FONT)))
    (short, large), (middle, larger), (long, plain) = sizes
    assert short < 0.3 < middle < 0.8 < 0.99 < long <= 1
    assert large > larger > plain > 18


FONT = "e => parseFloat(getComputedStyle(e).fontSize)"


def test_a_picture_that_cannot_be_shown_is_offered_to_be_set_aside(visit: Visit) -> None:
    world = animals(broken_items={"1"})
    page = visit(world, "#item-body .item-failed")
    page.keyboard.press("1")  # nobody answers what nobody has seen
    assert key_of_item(page) == "photos/0001.png"
    page.click("text=Cannot read it: set it aside")
    until(lambda: said(world) == [(1, "unreadable", [])])
    assert key_of_item(page) == "photos/0002.png"


def test_a_picture_can_be_tried_again(visit: Visit) -> None:
    world = animals(broken_items={"1"})
    page = visit(world, "#item-body .item-failed")
    world.broken_items.clear()
    page.click("text=Try again")
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("1")
    until(lambda: said(world) == [(1, "label", [CAT])])


def test_arrows_scroll_a_long_text(visit: Visit) -> None:
    world = World(names=ANIMALS, questions=[question(1, item=text_item("t", "many words " * 2000))])
    page = visit(world)
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('.item-text').scrollTop > 20")


def test_script_in_names_texts_and_keys_is_only_text(visit: Visit) -> None:
    evil = '<img src=x onerror="document.title=1">"><script>document.title=1</script>'
    names = [f"{evil} {i}" for i in range(30)]
    item = text_item(evil, evil)
    world = World(names=names, questions=[question(i, item=item) for i in (1, 2)], campaign=evil, doing=evil)
    page = visit(world)
    assert page.inner_text("#item-body").strip() == evil
    assert options(page)[0].split("\n")[1] == names[11]
    page.keyboard.press("0")
    page.keyboard.type("img 7")
    assert hits(page)[0] == names[7]
    press(page, "ArrowDown", "Enter")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#review:not([hidden])")
    assert page.locator("main script, main img").count() == 0
    assert page.title() == f"Label · {evil}"


# ---- what is happening


def test_the_bar_tells_done_left_speed_and_saved(visit: Visit) -> None:
    page = visit(animals())
    assert page.inner_text("#figure-done") == "0"
    page.wait_for_timeout(500)
    page.keyboard.press("1")
    assert page.inner_text("#figure-done") == "1"  # at once, before it is acknowledged
    page.wait_for_selector("#saving[data-phase=saved]")
    assert (page.inner_text("#figure-done"), page.inner_text("#figure-left")) == ("1", "7")
    assert 40 < float(page.inner_text("#figure-speed").split()[0]) < 130
    page.wait_for_selector("#figure-saved >> text=34 % · 11.2 min")
    assert page.inner_text("#figure-accuracy") == "93.2 %"


def test_it_says_what_is_happening(visit: Visit) -> None:
    sentences = {
        "calibrating": "Round 2: calibrating. These answers decide how short the lists can be.",
        "asking": "Round 2: 8 questions open.",
        "working": "Round 2: training on 500 labels. You are answering ahead while the model trains.",
    }
    for state, sentence in sentences.items():
        page = visit(animals(state=state, doing="training on 500 labels" if state == "working" else ""))
        assert page.inner_text("#doing") == sentence
    page = visit(animals(error="no space left on the disk."))
    assert "no space left on the disk" in page.inner_text("#doing")


def test_it_waits_and_goes_on_by_itself_until_the_end(visit: Visit) -> None:
    world = animals(0, state="working", doing="training on 500 labels")
    page = visit(world, "#waiting:not([hidden])")
    page.wait_for_selector("text=Training on 500 labels.")
    world.questions.append(question(1))
    world.state = "asking"
    page.wait_for_selector("#question[data-ready=true]")
    world.state, world.ending = "over", "every item has its label"
    page.keyboard.press("1")
    page.wait_for_selector("#ending:not([hidden])")
    assert page.inner_text("#ending-title") == "All done. Thank you, ana."
    assert "every item has its label" in page.inner_text("#ending-words")
    assert len(world.answers) == 1


def test_time_counts_from_when_the_item_is_seen(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.wait_for_timeout(400)
    page.keyboard.press("0")
    page.wait_for_timeout(300)
    page.keyboard.type("owl")
    page.keyboard.press("Enter")
    until(lambda: len(world.answers) == 1)
    first, second = last(world)["stage_seconds"]
    assert 0.35 < first < 1.2
    assert 0.28 < second < 1.2
    assert last(world)["wall_seconds"] >= first + second - 0.01


def test_what_is_not_answered_is_given_back_on_leaving(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.goto("about:blank")
    until(lambda: sorted(world.released) == [1, 2, 3, 4])


# ---- for everybody


def test_links_of_the_owner_and_of_an_annotator(visit: Visit) -> None:
    page = visit(animals(role="owner"))
    assert page.locator("nav a").all_inner_texts() == ["Label", "Dashboard", "People", "Decide", "Files"]
    assert visit(animals()).locator("nav a").all_inner_texts() == ["Label"]


def test_tab_alone_gets_everywhere_and_enter_answers(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.keyboard.press("Tab")  # from the prompt, which has the focus with every new question
    for tool in ("order", "guide"):
        assert page.evaluate("document.activeElement.id") == tool
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "1cat"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(lambda: said(world) == [(1, "label", [DOG])])
    assert page.evaluate("document.activeElement.id") == "prompt"


def test_the_skip_link_comes_first(visit: Visit) -> None:
    page = visit(animals())
    page.evaluate("document.activeElement.blur()")
    page.reload()
    page.wait_for_selector("#waiting, #question")
    assert page.evaluate("document.querySelector('a, button, input').className") == "skip-link"


def test_a_screen_reader_hears_of_every_new_item(visit: Visit) -> None:
    page = visit(animals())
    page.keyboard.press("1")
    assert page.text_content("#announce") == "Item photos/0002.png. 3 options."
    assert page.get_attribute("#announce", "role") == "status"
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("0")
    page.keyboard.type("be")
    active = page.get_attribute("#query", "aria-activedescendant")
    assert page.inner_text(f"#{active} .hit-name") == "bee"
    assert page.get_attribute("#query", "aria-expanded") == "true"


def test_a_finger_answers_on_a_phone(visit: Visit) -> None:
    world = animals()
    page = visit(world, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    assert page.evaluate("document.querySelector('.option').getBoundingClientRect().width") > 320
    page.tap("text=fox")
    page.tap("#none")
    page.fill("#query", "zeb")
    page.tap("#hits .hit")
    until(lambda: said(world) == [(1, "label", [FOX]), (2, "label", [-1, ZEBRA])])


# ---- leases


def test_who_goes_away_asks_for_nothing_more_and_keeps_no_question(visit: Visit) -> None:
    """Two questions are all there are: the page would like more, and asks again while somebody is there."""
    world = World(names=ANIMALS, questions=[question(i, classes=[0, 1], cuts=[2]) for i in (1, 2)])
    page = visit(world)
    page.clock.install()
    page.reload()
    page.wait_for_selector("#question[data-ready=true]")
    world.fetched.clear()
    page.clock.fast_forward(16_000)
    until(lambda: world.fetched and world.fetched[-1] == (4, [1, 2]))
    page.clock.fast_forward(60_000)
    page.wait_for_timeout(500)  # whatever it asks for then is on its way
    before = len(world.fetched)
    page.clock.fast_forward(60_000)
    page.wait_for_timeout(500)
    assert len(world.fetched) == before
    page.keyboard.press("Shift")
    page.clock.fast_forward(16_000)
    until(lambda: len(world.fetched) > before)


# ---- pictures and the connection


def test_an_outage_is_no_broken_picture(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.route("**/api/items/*", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("text=No connection. The picture comes as soon as the server answers again.")
    assert page.locator("text=set it aside").count() == 0
    page.unroute("**/api/items/*")
    page.wait_for_selector("#question[data-ready=true] #item-body img")
    page.keyboard.press("1")
    until(lambda: len(said(world)) == 1)
