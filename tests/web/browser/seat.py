"""Somebody in front of the labelling page, who sees what it shows and does what a person can."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

READY = "#question[data-ready=true]"
SAVED = "#saving[data-phase=saved]"
NEXT = """before => {
  const [waiting, ending] = ["waiting", "ending"].map((id) => document.getElementById(id));
  if (!waiting?.hidden) return undefined;
  if (!ending.hidden) return " ";
  const key = document.getElementById("item-key").textContent;
  return document.querySelector("#question[data-ready=true]") && key !== before ? key : undefined;
}"""


@dataclass
class Seat:
    page: Page
    seen: list[str] = field(default_factory=list)  # keys of items, in the order they were shown
    had: set[int] = field(default_factory=set)  # questions this page was given, as it told the server

    def __post_init__(self) -> None:
        self.page.on("request", self._hear)

    def _hear(self, request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/api/answers"):
            body: Any = request.post_data_json
            self.had |= {body["question"], *body["holding"]}

    # --- seeing ------------------------------------------------------------------------------------------------

    def next_item(self) -> str:
        """The key of an item other than the last one, once it can be answered; "" at the end of the campaign."""
        before = self.seen[-1] if self.seen else None
        shown = self.page.wait_for_function(NEXT, arg=before)
        key = str(shown.json_value()).strip()
        self.seen.append(key)
        return key

    @property
    def item(self) -> str:
        return self.page.text_content("#item-key") or ""

    @property
    def options(self) -> dict[str, str]:
        """Class -> key, of the buttons."""
        found = self.page.locator("#options .option")
        names, keys = found.locator(".option-name").all_inner_texts(), found.locator("kbd").all_inner_texts()
        return dict(zip(names, keys, strict=True))

    @property
    def searches(self) -> bool:
        return self.page.is_visible("#query")

    def doing(self, words: str) -> None:
        self.page.wait_for_selector(f"#doing:has-text('{words}')")

    def saved(self) -> None:
        self.page.wait_for_selector(SAVED)

    # --- doing -------------------------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.wait_for_selector(READY)
            self.page.keyboard.press(key)

    def say(self, name: str) -> None:
        """What somebody does who knows the class: its key, or none of these until it can be typed."""
        while not self.searches:
            if key := self.options.get(name):
                self.press(key)
                return
            self.press("0")
        self.page.keyboard.type(name)
        self.press("Enter")

    def back(self) -> str:
        """Undo, to an answer given before; the item it was about."""
        here = self.item
        self.page.keyboard.press("Backspace")
        self.page.wait_for_function("here => document.getElementById('item-key').textContent !== here", arg=here)
        self.page.wait_for_selector("#review:not([hidden])")
        self.page.wait_for_selector(READY)
        return self.item
