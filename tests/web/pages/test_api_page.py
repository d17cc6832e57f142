"""The API's description as a page."""

from __future__ import annotations

from tests.web.pages.conftest import Site, Visit


def test_every_route_of_the_description_is_there(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/api", "bo")
    page.wait_for_selector(".route")
    paths = page.request.get("/api/openapi.json").json()["paths"]
    known = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    shown = page.eval_on_selector_all(
        ".route", "all => all.map(r => [r.querySelector('.method').textContent, r.querySelector('.path').textContent])"
    )
    assert sorted(map(tuple, shown)) == sorted(known)


def test_a_route_opens_and_shows_how_to_call_it(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/api", "bo")
    route = page.locator("#post-api-answers")
    route.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "Once this returns, the answer is safe" in route.inner_text()
    example = route.locator("pre").inner_text()
    assert example.startswith(f'curl -X POST "{fresh.address}/api/answers"')
    assert '"Authorization: Bearer $TOKEN"' in example
    assert '{"kind":"label","path":[-1,3],"question":17,"stage_seconds":[1.4,2.1]}' in example
    assert "one entry a stage" in route.locator("table").inner_text()


def test_an_address_with_a_hash_opens_its_route(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/api#get-api-questions-id", "bo")
    page.wait_for_selector("#get-api-questions-id[open]")


def test_a_whole_group_opens_at_once(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/api", "bo")
    page.locator(".route-group").first.locator("text=Open all").click()
    assert page.locator(".route-group >> nth=0 >> details:not([open])").count() == 0
