"""The browser that these tests share with those of the labelling app."""

from __future__ import annotations

from tests.web.conftest import browser, picture

__all__ = ["browser", "picture"]
