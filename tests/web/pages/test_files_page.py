"""Labels out and in. The routes' own tests are elsewhere: here is what the page asks of them, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from shortlist.campaign.formats import FORMATS
from tests.web.pages.conftest import Site, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def asked_for(page: Page) -> list[dict[str, list[str]]]:
    links = page.eval_on_selector_all("a[data-format]", "all => all.map(one => one.href)")
    assert all(urlsplit(link).path == "/api/export" for link in links)
    return [parse_qs(urlsplit(link).query) for link in links]


def test_every_format_is_a_link_that_follows_the_choice(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/files")
    page.wait_for_selector("html.js")
    assert {one["format"][0] for one in asked_for(page)} == set(FORMATS)
    assert all(set(one) == {"format"} for one in asked_for(page))
    page.check("text=Every item, also those without a label")
    assert all(one["all"] == ["true"] for one in asked_for(page))
    page.check("text=Every single answer")
    assert all(one["answers"] == ["true"] and "all" not in one for one in asked_for(page))


def test_a_file_is_sent_as_it_is_and_the_outcome_shown(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/files")
    sent: dict[str, Any] = {}

    def answer(route: Route) -> None:
        request = route.request
        sent.update(query=parse_qs(urlsplit(request.url).query), body=request.post_data, headers=request.all_headers())
        route.fulfill(json={"written": 2, "same": 1, "kept": 0, "unknown": 3})

    page.route("**/api/import?*", answer)
    page.set_input_files("#file", {"name": "labels.doccano.jsonl", "mimeType": "text/plain", "buffer": b"{}\n"})
    page.check("text=Leave out rows")
    page.click("#import-form [type=submit]")
    page.wait_for_selector("#import-result li")
    assert page.locator("#import-result li").all_inner_texts() == [
        "2 items got a label from the file.",
        "1 item had that label already.",
        "3 rows left out: no such item or class here.",
    ]
    assert sent["query"] == {"format": ["doccano"], "skip_unknown": ["true"]}
    assert sent["body"] == "{}\n"
    assert sent["headers"]["x-csrf-token"] == page.get_attribute("meta[name=csrf]", "content")


def test_what_the_server_refuses_is_told(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/files")
    page.route(
        "**/api/import?*",
        lambda route: route.fulfill(
            status=400, json={"error": "labels.csv, line 3: the campaign has no class 'zebra'"}
        ),
    )
    page.set_input_files("#file", {"name": "labels.csv", "mimeType": "text/csv", "buffer": b"key,label\n"})
    page.click("#import-form [type=submit]")
    page.wait_for_selector("#import-message.error:has-text('no class')")
    assert page.locator("#import-result li").count() == 0


def test_no_file_or_an_unknown_ending_is_said_at_once(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/files")
    page.click("#import-form [type=submit]")
    page.wait_for_selector("#import-message:has-text('Choose a file first.')")
    page.set_input_files("#file", {"name": "labels.xml", "mimeType": "text/xml", "buffer": b"<a/>"})
    page.click("#import-form [type=submit]")
    page.wait_for_selector("#import-message:has-text('choose the format')")
    assert page.evaluate("document.activeElement.id") == "format"
