"""From a table in a recipe to a part of a campaign, with an error that names the field.

A part is known by the name of its class in snake_case; its settings are the arguments of that class. Parts that
hold parts (`inner`, `cost`, `score`, `model`) are tables in tables, and `experts` are a list of such.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Literal, Union

from pydantic import TypeAdapter, ValidationError

from shortlist import HOMES
from shortlist.campaign.config import snake
from shortlist.types import ShortlistError

NESTED = {"inner": "acquisition", "cost": "costs", "score": "conformal", "model": "models"}
LISTED = {"experts": "models"}  # lists of parts
PLAIN = (int, float, str, bool, Path, type(None))


def names(kind: str) -> dict[str, tuple[str, str]]:
    """The parts of one kind: recipe name -> (module, class).

    >>> names("queries")["top_k"]
    ('shortlist.queries.top_k', 'TopK')
    """
    home = f"shortlist.{kind}"
    mine = {name: m for name, m in HOMES.items() if m == home or m.startswith(f"{home}.")}
    return {snake(name): (m, name) for name, m in mine.items() if name[0].isupper()}


def part_class(kind: str, name: str) -> Any:
    """The class of a part that a recipe names; None for one that is not ours."""
    module, cls = names(kind).get(name, ("", ""))
    return getattr(import_module(module), cls) if cls else None


def build(kind: str, table: str | Mapping[str, Any], at: str, code: Path | None = None) -> Any:
    """The part that a table describes; `at` is where it stands, for the error.

    A name such as "mine:Gini" is the class `Gini` in the file `mine.py` of the folder `code`. Without that folder it is
    refused: who opens a recipe or a campaign runs nothing that came with it.

    >>> build("acquisition", {"name": "cost_aware", "inner": "entropy", "d": 1.2}, "acquisition")
    CostAware(inner=Entropy(), d=1.2)
    """
    part, settings = _asked(kind, table, at, code)
    try:
        return part(*_by_position(part, settings), **settings)
    except ShortlistError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as error:  # a value that its type let through
        raise ShortlistError(f"{at}: {snake(part.__name__)} cannot be made with these settings: {error}") from None


def _by_position(part: Any, settings: dict[str, Any]) -> list[Any]:
    """Taken out of the settings: for a part like `Belief(model, *experts)`, what comes up to the last of the list."""
    parameters = [*inspect.signature(part).parameters.values()]
    many = next((at for at, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), None)
    if many is None:
        return []
    first = [settings.pop(p.name) for p in parameters[:many] if p.name in settings]
    return [*first, *settings.pop(parameters[many].name, [])]


def check(kind: str, table: str | Mapping[str, Any], at: str, code: Path | None = None) -> Any:
    """The class of the part that a table describes; what is wrong with the table is refused, and nothing is built."""
    return _asked(kind, table, at, code)[0]


def _asked(kind: str, table: str | Mapping[str, Any], at: str, code: Path | None) -> tuple[Any, dict[str, Any]]:
    """The class of a part, and its settings."""
    if not isinstance(table, str | Mapping):
        raise ShortlistError(f"{at}: {table!r} is neither the name of a part nor a table with a name")
    settings = {"name": table} if isinstance(table, str) else dict(table)
    name = settings.pop("name", None)
    settings.pop("called", None)  # in a campaign's own settings: for its reports
    part = own_class(str(name), f"{at}.name", code) if ":" in str(name) else part_class(kind, str(name))
    if part is None:
        raise ShortlistError(f"{at}.name: {name!r} is none of {', '.join(sorted(names(kind)))}")
    for key, value in settings.items():
        settings[key] = setting_of(part, str(name), key, value, f"{at}.{key}", code)
    parameters = inspect.signature(part).parameters.values()
    if missing := [p.name for p in parameters if _is_needed(p) and p.name not in settings]:
        raise ShortlistError(f"{at}.{missing[0]}: {name} needs it, and it is not given")
    return part, settings


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL


def own_class(name: str, at: str, code: Path | None) -> Any:
    """The class that "mine:Gini" names, of the file mine.py in the folder `code`, read once in a process."""
    module, _, cls = name.partition(":")
    if code is None:
        raise ShortlistError(f"{at}: {name!r} is code in {module}.py; if you trust that file, say so with --trust-code")
    path = code.resolve() / f"{module}.py"
    if not (module.isidentifier() and path.is_file()):
        raise ShortlistError(f"{at}: {name!r} is a class in a file beside the recipe, and there is no {path}")
    alias = f"shortlist recipe code {path}"
    if alias not in sys.modules:
        sys.modules[alias] = _run(path, alias, at)
    found: Any = vars(sys.modules[alias]).get(cls)
    if not isinstance(found, type) or found.__module__ != alias:
        raise ShortlistError(f"{at}: there is no class {cls!r} in {path}")
    found.recipe_name = name  # type: ignore[attr-defined]  # by which campaigns record it
    return found


def _run(path: Path, alias: str, at: str) -> types.ModuleType:
    """The module of a file. It is known under its alias while it runs, since dataclasses look themselves up."""
    spec = spec_from_file_location(alias, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[alias] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[alias]
        raise ShortlistError(f"{at}: {path} fails: {type(error).__name__}: {error}") from error
    return module


def setting_of(part: Any, name: str, key: str, value: Any, at: str, code: Path | None = None) -> Any:
    """A setting of a part as it takes it, or a refusal."""
    hidden = {f.name for f in dataclasses.fields(part) if not f.repr} if dataclasses.is_dataclass(part) else set()
    accepted = [name for name in inspect.signature(part).parameters if name not in hidden]
    if key not in accepted:
        there = ", ".join(accepted) or "no settings"
        raise ShortlistError(f"{at}: no such setting; {name} has {there}")
    if key in NESTED:
        return build(NESTED[key], value, at, code)
    if key in LISTED:
        if not isinstance(value, list):
            raise ShortlistError(f'{at}: {value!r} is no list of parts, such as [{{ name = "neighbours" }}]')
        return [build(LISTED[key], one, f"{at}[{number}]", code) for number, one in enumerate(value)]
    if key == "estimator":
        return estimator(value, at, code)
    hint = typing.get_type_hints(part.__init__).get(key, Any)
    if not _is_plain(hint):
        return value
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        raise ShortlistError(f"{at}: {value!r} does not fit: {error.errors()[0]['msg'].lower()}") from None


def _is_plain(hint: Any) -> bool:
    """Whether a type is made of numbers, texts and choices, which pydantic can check by itself."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return all(_is_plain(h) for h in typing.get_args(hint))
    return hint in PLAIN or typing.get_origin(hint) is Literal


def estimator(text: Any, at: str, code: Path | None = None) -> Any:
    """A scikit-learn estimator as one would write it in Python: parsed, never executed.

    One of one's own is written as "mine:Classifier(k=3)"; see `build`.

    >>> estimator("KNeighborsClassifier(n_neighbors=3)", "model.estimator")
    KNeighborsClassifier(n_neighbors=3)
    """
    from sklearn.utils import all_estimators

    if not isinstance(text, str):
        raise ShortlistError(f'{at}: {text!r} is no text such as "LogisticRegression(C=1)"')
    known = dict(all_estimators())
    if own := re.match(r"(\w+):(\w+)", text):
        known[own[2]], text = own_class(own[0], at, code), text[own.start(2) :]
    try:
        parsed = ast.parse(text, mode="eval").body
        made = _made(ast.Call(parsed, [], []) if isinstance(parsed, ast.Name) else parsed, known)
        if hasattr(made, "_validate_params"):
            made._validate_params()
    except Exception as error:  # what Python or a constructor of scikit-learn has against it, of whatever type
        why = str(error) or type(error).__name__
        raise ShortlistError(f"{at}: {text[:200]!r} cannot be read: {why[:500]}") from None
    return made


def _made(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """Calls of scikit-learn's estimators, and plain values; a list may hold either (the steps of a Pipeline)."""
    if isinstance(node, ast.List | ast.Tuple):
        items = [_made(item, known) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    if not isinstance(node.func, ast.Name):
        raise ValueError("it must look like Name(setting=value)")
    if node.func.id not in known:
        raise ValueError(f"scikit-learn has no {node.func.id}")
    if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
        raise ValueError("* and ** are not read; write each setting as name=value")
    settings = {k.arg: _made(k.value, known) for k in node.keywords if k.arg}
    return known[node.func.id](*(_made(argument, known) for argument in node.args), **settings)
