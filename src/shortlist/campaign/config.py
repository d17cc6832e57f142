"""What was asked for, as plain values: compared on every start, and kept as `campaign.toml`."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from shortlist.system.digests import digest
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
        part = part.item()
    if isinstance(part, float) and math.isnan(part):
        return "nan"  # which is equal to itself
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, PurePath):
        return str(part)
    if isinstance(part, Mapping):
        return {str(k): describe(v) for k, v in part.items() if v is not None}
    if isinstance(part, list | tuple):
        return [describe(v) for v in part]
    if isinstance(part, set | frozenset):
        return {"name": f"builtins.{type(part).__name__}", "members": sorted(map(str, part))}
    if isinstance(part, np.ndarray):
        return {"name": "numpy.ndarray", "digest": digest(part)}
    return {**_settings(part), **_named(part)}


def _settings(part: Any) -> dict[str, Any]:
    """A part's own `spec`, or the fields of a dataclass, or else its public attributes.

    >>> class Mine:
    ...     def __init__(self, k):
    ...         self.k, self._seen, self.coef_ = k, 0, 1.5  # _ before or behind: what it has learnt
    >>> {**describe(Mine(3)), "name": "mine"}
    {'name': 'mine', 'k': 3}
    """
    name = f"{type(part).__module__}.{type(part).__qualname__}"
    if hasattr(part, "spec"):
        spec = part.spec()
        if not isinstance(spec, Mapping):
            raise ShortlistError(f"{name}: spec() has to give its settings by name, got {type(spec).__name__}")
        return {"name": name, **describe(spec)}
    if dataclasses.is_dataclass(part):
        shown = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.repr and not _is_later(f, part)}
        return {"name": snake(type(part).__name__), **describe(shown)}
    if hasattr(part, "state_dict"):  # a network in memory, of which training changes what there is to see
        return {"name": name}
    attributes = part.get_params(deep=False) if hasattr(part, "get_params") else getattr(part, "__dict__", {})
    public = {key: value for key, value in attributes.items() if not (key.startswith("_") or key.endswith("_"))}
    return {"name": name, **describe({key: value for key, value in public.items() if _is_setting(value)})}


def _is_later(field: dataclasses.Field[Any], part: Any) -> bool:
    """Whether a setting came with a later version and is at its default, as in the records of the versions before."""
    return bool(field.metadata.get("later")) and getattr(part, field.name) == field.default


def _is_setting(value: Any) -> bool:
    """Whether a value says something by itself; not a module, a connection, a network in memory."""
    if isinstance(value, Mapping):
        return all(map(_is_setting, value.values()))
    if isinstance(value, list | tuple):
        return all(v is not None and _is_setting(v) for v in value)
    if isinstance(value, bool | int | float | str | set | frozenset | PurePath | np.generic | np.ndarray):
        return True
    speaks = hasattr(value, "spec") or hasattr(value, "get_params") or dataclasses.is_dataclass(value)
    return speaks and not isinstance(value, type)


def _named(part: Any) -> dict[str, Any]:
    """The name by which a recipe finds a part of one's own, and what its author calls it, for reports."""
    kind = type(part)
    if _is_ours(kind):
        return {}
    found = {"name": kind.recipe_name} if "recipe_name" in vars(kind) else {}
    if hasattr(kind, "select") or hasattr(kind, "plan"):
        own = [vars(cls) for cls in kind.__mro__ if not _is_ours(cls)]
        told = {key: next((table[key] for table in own if key in table), "") for key in ("short", "about")}
        told["short"] = told["short"] or kind.__name__
        found["called"] = {key: text for key, text in told.items() if isinstance(text, str) and text}
    return found


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "shortlist"


def without_names(config: Any) -> Any:
    """What was asked for, without what authors call their parts."""
    if not isinstance(config, Mapping):
        return config
    return {key: without_names(value) for key, value in config.items() if key != "called"}


def first_difference(old: Any, new: Any, at: str = "") -> str | None:
    """Where two configurations part, in words.

    >>> first_difference({"seed": 0, "query": {"n_cal": 5}}, {"seed": 0, "query": {"n_cal": 9}})
    'query.n_cal = 5, not 9'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() == {"name"} and "." in str(old["name"]) and new.get("name") == old["name"]:
            return None  # a part of one's own, of which earlier versions wrote down nothing else
        for key in [*old, *(k for k in new if k not in old and k != "name")]:
            difference = first_difference(old.get(key), new.get(key), f"{at}.{key}" if at else key)
            if difference:
                return difference
        return None
    return None if old == new else f"{at} = {json.dumps(old)}, not {json.dumps(new)}"


ENDLESS = re.compile(r"""(?:\.[ \t]*["']?[\w-]+["']?[ \t]*){1000}""")


def from_toml(text: str) -> dict[str, Any]:
    """What TOML says. A key of thousands of parts is refused: it would take memory by the square of their number.

    >>> from_toml("model.C = 10")
    {'model': {'C': 10}}
    """
    if ENDLESS.search(text):
        raise tomllib.TOMLDecodeError("a key has more than 1000 parts")
    return tomllib.loads(text)


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
