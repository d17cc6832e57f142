"""What a method is called, and which campaigns are seeds of the same one."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from shortlist.campaign.config import without_names
from shortlist.measures import Record
from shortlist.recipes.parts import part_class

FIRST = ("random", "entropy", "margin", "least_confident", "core_set")  # in tables and figures; others by name
PLACES = ("folder", "path", "test")  # where a dataset lies says nothing about what it is


# --- names -----------------------------------------------------------------------------------------------------


def label(config: Mapping[str, Any]) -> str:
    """The paper's short name for a query design with an acquisition, such as CSQ(α=0.1)+Cost(Ent)."""
    return f"{part_label('queries', config['query'])}+{part_label('acquisition', config['acquisition'])}"


def part_label(kind: str, part: Mapping[str, Any], inside: str | None = None) -> str:
    """What its class calls itself, with its settings put in (`inside` for parts in it).

    What the class of another author is called stands in the part; code of theirs is not run for a name.
    """
    cls, called = part_class(kind, str(part["name"])), part.get("called", {})
    known = {} if cls is None else signature(cls).parameters
    settings = {name: parameter.default for name, parameter in known.items()} | dict(part)
    for name, value in part.items():
        if isinstance(value, Mapping) and "name" in value:
            settings[name] = inside or part_label(kind, value)
    if cls is None:
        return _filled(str(called.get("short") or part["name"]), settings)
    fixed = "" if part.get("alpha") is None else f"(α={part['alpha']:g})"
    return (getattr(cls, "short", "") or cls.__name__).format_map(settings) + fixed


def _filled(short: str, settings: Mapping[str, Any]) -> str:
    """The name with settings in braces put in, of those that are plain; nothing else that braces can say.

    >>> _filled("Gini{k}", {"k": 3}), _filled("Gini{k.__class__}", {"k": 3})
    ('Gini3', 'Gini{k.__class__}')
    """
    plain = {name: str(value) for name, value in settings.items() if isinstance(value, str | int | float)}
    return re.sub(r"\{(\w+)\}", lambda found: plain.get(found[1], found[0]), short)


def explained(kind: str, part: Mapping[str, Any]) -> dict[str, str]:
    """The names that a part's label is made of, each with a sentence; none for a part that is not ours."""
    cls = part_class(kind, str(part["name"]))
    about = getattr(cls, "about", "") or str(part.get("called", {}).get("about", ""))
    fixed = "" if cls is None or part.get("alpha") is None else " α is fixed."
    sentences = {part_label(kind, part, inside="·"): about + fixed} if about else {}
    return sentences | (explained(kind, part["inner"]) if "inner" in part else {})


# --- groups ----------------------------------------------------------------------------------------------------


def by_subject(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records that may share a figure: one dataset, one model, one unit of cost. Named after the dataset."""
    return _alike(records, lambda record: str(record.config["dataset"]["name"]), _subject)


def grouped(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The seeds of each method, by its label: conventional queries first, lowest seed first."""
    groups = _alike(sorted(records, key=_rank), lambda record: label(record.config), asked_for)
    return {name: part for base, group in groups.items() for name, part in _repeats(base, group)}


def _alike(
    records: Iterable[Record], named: Callable[[Record], str], settings: Callable[[Record], Mapping[str, Any]]
) -> dict[str, list[Record]]:
    """Those of the same settings; groups of one name get every setting in which they differ: "CSQ, n_cal=50, d=1"."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[_key(settings(record))].append(record)
    firsts = [group[0] for group in groups.values()]
    names = [named(record) for record in firsts]
    for name in set(names):
        alike = [i for i, record in enumerate(firsts) if named(record) == name]
        for i, words in zip(alike, _differences([flat(settings(firsts[i])) for i in alike]), strict=True):
            names[i] = ", ".join([name, *words])
    return dict(zip(names, groups.values(), strict=True))


def flat(settings: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Tables in tables as one table: `query.k` for the `k` of the table `query`."""
    result: dict[str, Any] = {}
    for key, value in settings.items():
        result |= flat(value, f"{at}{key}.") if isinstance(value, Mapping) else {f"{at}{key}": value}
    return result


def _differences(settings: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """For each, the settings in which it differs from any of the others, in order."""
    keys = dict.fromkeys(key for setting in settings for key in setting)
    pairs = {key: [[_pair(key, setting[key])] if key in setting else [] for setting in settings] for key in keys}
    different = [pair for pair in pairs.values() if any(one != pair[0] for one in pair)]
    return [[word for pair in different for word in pair[i]] for i in range(len(settings))]


def _pair(key: str, value: Any) -> str:
    written = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"{key.removesuffix('.name').rpartition('.')[2]}={written}"


def _repeats(name: str, group: list[Record]) -> list[tuple[str, list[Record]]]:
    """One group, unless a seed occurs twice: then by folder, as settings do not show all (noisy answers, for one)."""
    if not _repeated(group):
        return [(name, group)]
    parents: dict[str, list[Record]] = defaultdict(list)
    for record in group:
        parents[record.folder.parent.name].append(record)
    if len(parents) > 1 and not any(_repeated(part) for part in parents.values()):
        return [(f"{name}, in {parent}", part) for parent, part in parents.items()]
    return [(f"{name}, in {record.folder}", [record]) for record in group]


def _repeated(group: Sequence[Record]) -> bool:
    return len({record.config["seed"] for record in group}) < len(group)


def _subject(record: Record) -> dict[str, Any]:
    config = record.config
    size = {"items": record.n_items, "classes": len(record.classes)}
    cost = config["query"].get("cost", {"name": "bits"})
    dataset = {k: v for k, v in known_dataset(config["dataset"]).items() if k != "features"}  # not the model's to see
    return {"dataset": dataset, "model": config["model"], "cost": cost, "size": size}


def asked_for(record: Record) -> dict[str, Any]:
    """Everything but the seed, where the dataset lies, and what authors call their parts."""
    config: dict[str, Any] = without_names(record.config)
    return {k: known_dataset(v) if k == "dataset" else v for k, v in config.items() if k != "seed"}


def known_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """What a dataset is, wherever it lies."""
    return {k: v for k, v in dataset.items() if k not in PLACES}


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def _rank(record: Record) -> tuple[Any, ...]:
    """Conventional first and candidate sets last, Rand before Ent before Cost(Ent), then by what was asked for."""
    query, acquisition = record.config["query"], record.config["acquisition"]
    plain = acquisition
    while plain["name"] == "cost_aware":
        plain = plain["inner"]
    return (
        query["name"] == "candidate_set",
        query["name"] != "conventional",
        part_label("queries", query),
        [*FIRST, plain["name"]].index(plain["name"]),
        plain["name"],
        len(part_label("acquisition", acquisition)),
        _key(asked_for(record)),
        int(record.config["seed"]),
        str(record.folder),
    )
