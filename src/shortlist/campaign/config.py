"""What was asked for, as plain values: compared on every start, and kept as `campaign.toml`."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from shortlist.types import ShortlistError


def snake(name: str) -> str:
    """The name a recipe knows a class by.

    >>> snake("CandidateSet"), snake("KernelSVM"), snake("R52")
    ('candidate_set', 'kernel_svm', 'r52')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def describe(part: Any) -> Any:
    """A part and its settings as values that TOML can hold.

    >>> from shortlist.costs import Linear
    >>> describe(Linear(2.0))
    {'name': 'linear', 'slope': 2.0, 'start': 0.0}
    """
    if isinstance(part, np.generic):
        return part.item()
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, PurePath):
        return str(part)
    if isinstance(part, Mapping):
        return {str(k): describe(v) for k, v in part.items() if v is not None}
    if isinstance(part, list | tuple):
        return [describe(v) for v in part]
    if hasattr(part, "spec"):
        return describe(part.spec())
    if dataclasses.is_dataclass(part):
        shown = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.repr}
        return {"name": snake(type(part).__name__), **describe(shown)}
    return {"name": f"{type(part).__module__}.{type(part).__qualname__}"}


def first_difference(old: Any, new: Any, at: str = "") -> str | None:
    """Where two configurations part, in words.

    >>> first_difference({"seed": 0, "query": {"n_cal": 5}}, {"seed": 0, "query": {"n_cal": 9}})
    'query.n_cal = 5, not 9'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            difference = first_difference(old.get(key), new.get(key), f"{at}.{key}" if at else key)
            if difference:
                return difference
        return None
    return None if old == new else f"{at} = {json.dumps(old)}, not {json.dumps(new)}"


def to_toml(values: Mapping[str, Any], prefix: str = "") -> str:
    """Plain values as TOML, tables last.

    >>> print(to_toml({"seed": 0, "query": {"name": "top_k", "k": 3}}))
    seed = 0
    <BLANKLINE>
    [query]
    name = "top_k"
    k = 3
    <BLANKLINE>
    """
    plain = [f"{_key(k)} = {_value(v)}\n" for k, v in values.items() if not isinstance(v, Mapping)]
    tables = [
        f"\n[{prefix}{_key(k)}]\n{to_toml(v, f'{prefix}{_key(k)}.')}"
        for k, v in values.items()
        if isinstance(v, Mapping)
    ]
    return "".join([*plain, *tables])


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    raise ShortlistError(f"config: {value!r} cannot be written as TOML")
