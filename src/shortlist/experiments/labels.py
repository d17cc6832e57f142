"""What a method is called, and which campaigns are seeds of the same one."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shortlist.measures import Record

QUERIES = {"conventional": "CQ", "one_bit": "OneBit", "top_k": "Top", "candidate_set": "CSQ"}
ACQUISITIONS = {
    "random": "Rand",
    "entropy": "Ent",
    "margin": "Margin",
    "least_confident": "LC",
    "core_set": "CoreSet",
    "badge": "BADGE",
    "prob_cover": "ProbCover",
    "saal": "SAAL",
    "typi_clust": "TypiClust",
}
PLACES = ("folder", "path", "test")  # where a dataset lies says nothing about what it is


# --- names -----------------------------------------------------------------------------------------------------


def label(config: Mapping[str, Any]) -> str:
    """The paper's short name for a query design with an acquisition.

    >>> entropy = {"name": "cost_aware", "d": 0.3, "inner": {"name": "entropy"}}
    >>> label({"query": {"name": "candidate_set", "alpha": 0.1}, "acquisition": entropy})
    'CSQ(α=0.1)+Cost(Ent)'
    """
    return f"{query_label(config['query'])}+{acquisition_label(config['acquisition'])}"


def query_label(query: Mapping[str, Any]) -> str:
    """
    >>> query_label({"name": "top_k", "k": 3}), query_label({"name": "candidate_set"}), query_label({"name": "mine"})
    ('Top3', 'CSQ', 'mine')
    """
    name = str(query["name"])
    short = QUERIES.get(name, name)
    if name == "top_k":
        return f"{short}{query.get('k', 1)}"
    if name == "candidate_set" and query.get("alpha") is not None:
        return f"{short}(α={query['alpha']:g})"
    return short


def acquisition_label(acquisition: Mapping[str, Any]) -> str:
    name = str(acquisition["name"])
    if name == "cost_aware":
        return f"Cost({acquisition_label(acquisition['inner'])})"
    return ACQUISITIONS.get(name, name)


# --- groups ----------------------------------------------------------------------------------------------------


def by_subject(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records that may share a figure: one dataset, one model, one unit of cost. Named after the dataset."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[_key(_subject(record))].append(record)
    groups = list(found.values())
    names = [str(group[0].config["dataset"]["name"]) for group in groups]
    return dict(zip(tell_apart(names, [_subject(group[0]) for group in groups]), groups, strict=True))


def grouped(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The seeds of each method, by its label: conventional queries first, lowest seed first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=_rank):
        found[_key(_method(record.config))].append(record)
    groups = list(found.values())
    names = tell_apart([label(group[0].config) for group in groups], [_method(group[0].config) for group in groups])
    return {name: part for base, group in zip(names, groups, strict=True) for name, part in _repeats(base, group)}


def tell_apart(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same names, those that occur twice with the first setting in which they differ.

    >>> tell_apart(["CSQ", "CSQ", "CQ"], [{"query": {"n_cal": 50}}, {"query": {"n_cal": 100}}, {}])
    ['CSQ, n_cal=50', 'CSQ, n_cal=100', 'CQ']
    """
    result = list(names)
    for name, count in Counter(names).items():
        if count > 1:
            alike = [i for i, other in enumerate(names) if other == name]
            for i, words in zip(alike, _differences([flat(settings[i]) for i in alike]), strict=True):
                result[i] = ", ".join([name, *words])
    return result


def flat(settings: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Tables in tables as one table.

    >>> flat({"seed": 0, "query": {"name": "top_k", "k": 3}})
    {'seed': 0, 'query.name': 'top_k', 'query.k': 3}
    """
    result: dict[str, Any] = {}
    for key, value in settings.items():
        result |= flat(value, f"{at}{key}.") if isinstance(value, Mapping) else {f"{at}{key}": value}
    return result


def _differences(settings: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """For each, the settings that it takes to know it from the others: as few as will do, the first first."""
    words: list[list[str]] = [[] for _ in settings]
    for key in dict.fromkeys(key for one in settings for key in one):
        told = [[f"{_short(key)}={_said(one[key])}"] if key in one else [] for one in settings]
        if any(word != told[0] for word in told):
            words = [before + word for before, word in zip(words, told, strict=True)]
        if len({tuple(w) for w in words}) == len(settings):
            break
    return words


def _short(key: str) -> str:
    *_, last = key.removesuffix(".name").split(".")
    return last


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _repeats(name: str, group: list[Record]) -> list[tuple[str, list[Record]]]:
    """One group, unless a seed is there twice: what the settings do not show (noisy answers, say) the folder does."""
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


def _method(config: Mapping[str, Any]) -> dict[str, Any]:
    """Everything but the seed."""
    return {k: known_dataset(v) if k == "dataset" else v for k, v in config.items() if k != "seed"}


def known_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """What a dataset is, wherever it lies."""
    return {k: v for k, v in dataset.items() if k not in PLACES}


def _key(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def _rank(record: Record) -> tuple[int, str, int, int, str, int, str]:
    """Conventional before candidate sets, Rand before Ent before Cost(Ent), then by what was asked for."""
    query, acquisition = record.config["query"], record.config["acquisition"]
    plain = acquisition
    while plain["name"] == "cost_aware":
        plain = plain["inner"]
    return (
        _place(QUERIES, query["name"]),
        query_label(query),
        _place(ACQUISITIONS, plain["name"]),
        len(acquisition_label(acquisition)),
        _key(_method(record.config)),
        int(record.config["seed"]),
        str(record.folder),
    )


def _place(names: Mapping[str, str], name: str) -> int:
    return [*names, name].index(name)
