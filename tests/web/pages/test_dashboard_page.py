"""The campaign in figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.chromium import PHONE, faults, overflow
from tests.web.conftest import Picture
from tests.web.pages.conftest import Site, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

FIGURES = ["cost", "accuracy", "listSize", "coverage", "alpha", "speed"]


def open_dashboard(visit: Visit, site: Site, **context: Any) -> Page:
    page = visit(site, "/dashboard", **context)
    page.wait_for_selector("#figures[aria-busy=false]")
    return page


def test_every_figure_is_drawn_and_has_its_numbers(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    data = page.request.get("/api/dashboard").json()
    for name in FIGURES:
        chart = page.locator(f"#chart-{name}")
        assert chart.locator("svg circle").count() > 0, name
        assert "Arrow keys" in (chart.locator(".plot").get_attribute("aria-label") or "")
        assert chart.locator("table tbody tr").count() > 0
    assert page.locator("#chart-cost table tbody tr").count() == len(data["rounds"])
    assert page.locator("#chart-speed table tbody tr").count() == len(data["speed"])
    assert page.locator("#chart-accuracy .band").count() == 1
    formula = page.inner_text("#chart-speed .chart-note")
    assert f"{data['fit']['b']:.2f}".rstrip("0") in formula
    assert "log₂(options)" in formula
    assert "Lists are made by bits" in formula
    assert "1.59 s a bit" in page.inner_text("#chart-speed .legend")


def test_the_strip_sums_up(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    status, data = page.request.get("/api/status").json(), page.request.get("/api/dashboard").json()
    assert page.inner_text("#tile-answers") == str(status["done"])
    assert page.inner_text("#tile-accuracy") == f"{100 * data['rounds'][-1]['accuracy']:.1f} %"
    low, high = data["rounds"][-1]["interval"]
    assert page.inner_text("#tile-accuracy-more") == f"95 % interval {100 * low:.1f}–{100 * high:.1f}"
    assert page.inner_text("#chart-accuracy .chart-note").startswith(page.inner_text("#tile-accuracy"))
    assert page.inner_text("#chart-cost .chart-note").startswith(f"{100 * data['saving']:.1f} % saved")
    assert f"That is {data['times_floor']:.1f} × the floor" in page.inner_text("#chart-cost .chart-note")
    assert page.inner_text("#tile-round") == str(status["round"])
    assert page.inner_text("#doing").startswith("Round 5")
    done = (
        f"{status['items_done']:,} of {status['items']:,} items done, {status['items'] - status['items_done']:,} left"
    )
    assert page.inner_text("#tile-answers-more") == done
    lines = page.locator("#ledger tbody tr:not(.sum)")
    assert lines.count() == len(data["ledger"])
    several = {n for n, of in Counter(line["round"] for line in data["ledger"]).items() if of > 1}
    sums = page.locator("#ledger tbody tr.sum").all_inner_texts()
    assert {int(text.split()[0]) for text in sums} == several
    newest = max(several)
    answers = sum(line["answers"] for line in data["ledger"] if line["round"] == newest)
    assert sums[0].split()[:4] == [str(newest), "The", "round", str(answers)]
    assert page.locator("#ledger tfoot").inner_text().split()[0] == "All"


@pytest.mark.parametrize(
    ("speed", "note"),
    [
        ([], ""),
        ([(5, 12), (36, 9)], "A curve is fitted once 30 stages are timed: 21 so far."),
        ([(36, 290)], "All 290 stages timed so far showed 36 options: a curve needs two numbers of them."),
    ],
)
def test_why_there_is_no_curve_yet(fresh: Site, visit: Visit, speed: list[tuple[int, int]], note: str) -> None:
    page = visit(fresh, "/sign-in", None)
    rows = [{"options": options, "n": n, "median": 3, "low": 2, "high": 4} for options, n in speed]
    data = {"speed": rows, "fit": None, "unit": "bits", "price": "cost"}
    told = page.evaluate("data => import('/static/owner/figures.js').then(figures => figures.speed(data).note)", data)
    assert "".join(told) == note


def test_a_figure_is_read_with_the_arrow_keys(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    chart = page.locator("#chart-cost")
    chart.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    assert "Round 1" in chart.locator(".tip").inner_text()
    page.keyboard.press("End")
    told = chart.locator("[role=status]").inner_text()
    assert told.startswith("Round 4: All classes every time ")
    assert "With shortlists" in told
    page.keyboard.press("Escape")
    assert chart.locator(".tip").is_hidden()
    chart.locator("text=Show numbers").click()
    assert chart.locator("table").bounding_box()["height"] > 50  # type: ignore[index]


def test_figures_update_by_themselves(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    before = int(page.inner_text("#tile-answers"))
    page.evaluate("document.querySelector('#chart-alpha svg').dataset.old = 'yes'")
    answer_one(page)
    page.wait_for_selector(f"#tile-answers:text-is('{before + 1}')")
    assert page.locator("#chart-alpha svg[data-old]").count() == 1  # what has not changed is not drawn anew


def answer_one(page: Page) -> None:
    question = page.request.get("/api/questions?n=1").json()["questions"][0]
    csrf = page.get_attribute("meta[name=csrf]", "content") or ""
    answer = {"question": question["id"], "kind": "skip", "stage_seconds": [1.0]}
    assert page.request.post("/api/answers", data=answer, headers={"X-CSRF-Token": csrf}).ok


def test_without_a_server_it_says_so_and_goes_on(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    page.route("**/api/dashboard", lambda route: route.abort())
    look_again(page)
    page.wait_for_selector("#trouble:has-text('cannot be reached')")
    page.unroute("**/api/dashboard")
    page.wait_for_selector("#trouble:empty", state="attached")  # by itself


def look_again(page: Page) -> None:
    """As if somebody had come back to the tab."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_a_campaign_that_has_just_begun_explains_what_is_missing(fresh: Site, visit: Visit) -> None:
    page = open_dashboard(visit, fresh)
    for name in FIGURES:
        assert page.locator(f"#chart-{name} .nothing").inner_text()
    assert page.inner_text("#ledger") == "Nothing has been answered yet."


@pytest.mark.parametrize(
    ("call", "ticks"),
    [
        ("roundTicks(0, 97, 4)", [0, 25, 50, 75, 100]),
        ("roundTicks(0.8, 0.93, 4)", [0.8, 0.85, 0.9, 0.95]),
        ("roundTicks(5, 5, 4)", [4, 6]),
        ("wholeTicks(1, 4, 8)", [1, 2, 3, 4]),
        ("wholeTicks(1, 40, 8)", [10, 20, 30, 40]),
        ("wholeTicks(3, 3, 8)", [3]),
        ("powerTicks(2, 20)", [2, 4, 8, 16, 32]),
        ("powerTicks(3, 3)", [2, 4]),
    ],
)
def test_axes_have_round_numbers(busy: Site, visit: Visit, call: str, ticks: list[float]) -> None:
    page = visit(busy, "/sign-in", None)
    assert page.evaluate(f"import('/static/shared/charts.js').then(charts => charts.{call})") == ticks


SCATTER = """async () => {
  const { Chart, logCurve } = await import("/static/shared/charts.js");
  document.body.insertAdjacentHTML("beforeend", '<section id="study"><h2>Seconds</h2></section>');
  const people = [[4, 3], [4, 2], [8, 5], [16, 6]].map(([x, y]) => ({ x, y }));
  new Chart(document.getElementById("study")).show({
    about: "", empty: "",
    x: { name: "options", log: true, words: String },
    y: { name: "s", format: String, zero: true },
    series: [
      { name: "A person", tone: 2, scatter: true, points: people },
      { name: "Fit", tone: 1, curve: logCurve({ a: 1, b: 1 }) },
    ],
  });
  await new Promise((drawn) => setTimeout(drawn, 100));
  const across = [...document.querySelectorAll("#study .plot circle")].map((dot) => Number(dot.getAttribute("cx")));
  const lines = document.querySelectorAll("#study .plot path.line").length;
  return [across, lines, [...document.querySelectorAll("#study td")].map((cell) => cell.textContent)];
}"""


def test_points_of_one_place_stand_side_by_side_and_have_no_line(busy: Site, visit: Visit) -> None:
    across, lines, cells = visit(busy, "/sign-in", None).evaluate(SCATTER)
    assert across == sorted(set(across))
    assert across[1] - across[0] == 9
    assert lines == 1  # the curve's
    assert cells == ["2–3, n = 2", "3", "5", "4", "6", "5"]


def test_before_lists_save_anything_it_says_why_and_what_would_help(fresh: Site, visit: Visit) -> None:
    page = open_dashboard(visit, fresh)
    says = "Lists save nothing yet: all classes are shown until a model has learnt from the first round."
    assert page.inner_text("#advice-says") == says
    helps = page.locator("#advice-helps li").all_inner_texts()
    assert any(one.startswith("A better encoder, ") for one in helps)
    assert not any("no words" in one for one in helps)  # a digit is called what it is
    assert page.inner_text("#tile-saved-more") == "nothing yet"
    assert faults(page) == []


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_advice_fits(fresh: Site, visit: Visit, screen: str, picture: Picture) -> None:
    page = open_dashboard(visit, fresh, **(PHONE if screen == "phone" else {}))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        picture(page, f"advice-{screen}-{scheme}", whole=True)
        assert faults(page) == []
    assert overflow(page) == 0


def test_where_lists_pay_there_is_no_advice_and_the_time_says_how_it_was_worked_out(busy: Site, visit: Visit) -> None:
    page = open_dashboard(visit, busy)
    assert not page.is_visible("#advice")
    status, data = page.request.get("/api/status").json(), page.request.get("/api/dashboard").json()
    words = page.inner_text("#tile-saved-more")
    assert f"{status['saved_minutes']:g} min: an answer takes {data['pace']['whole']:.1f} s with all classes, " in words
    assert f"{data['pace']['listed']:.1f} s with lists" in words
