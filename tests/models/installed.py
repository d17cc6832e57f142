"""Encoders as if only some of them were installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shortlist.models.encoders.packages import PACKAGES


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Others need a module that is nowhere; those named are taken to be there, as far as nothing of them is loaded."""
    for name, package in PACKAGES.items():
        needs = () if name in names else ("no_such_module",)
        monkeypatch.setitem(PACKAGES, name, replace(package, needs=needs))
