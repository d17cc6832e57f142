"""Rates: shares from 0 to 1 in Python and over the API, percent where they are printed and in files.

Files in percent are results (Parquet), truth.json, and `[stop]` of campaign.toml and recipes. A campaign's database has
shares, and percent in rounds that earlier versions finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shortlist.types import Round

OF_ROUND = ("relative_cost", "accuracy", "macro_f1", "coverage")  # and the two ends of `interval`
DIGITS = 10  # of a percentage: more would tell how computers multiply, 7.000000000000001 for 0.07


def percent(share: float | None) -> float | None:
    """
    >>> percent(0.07), percent(1), percent(None)
    (7.0, 100.0, None)
    """
    return None if share is None else round(100.0 * share, DIGITS)


def in_percent(done: Round) -> dict[str, Any]:
    """A round as figures and results have it. Its interval is in neither."""
    values = {name: value for name, value in asdict(done).items() if name != "interval"}
    return values | {name: percent(values[name]) for name in OF_ROUND}


def in_shares(written: Mapping[str, Any]) -> dict[str, Any]:
    """What an earlier version wrote of a round.

    >>> in_shares(dict.fromkeys(OF_ROUND, 50.0) | {"number": 2, "interval": [45.0, 55.0], "coverage": None})["interval"]
    [0.45, 0.55]
    """
    rates = {name: None if written[name] is None else written[name] / 100 for name in OF_ROUND}
    interval = written["interval"] and [end / 100 for end in written["interval"]]
    return {**written, **rates, "interval": interval}
