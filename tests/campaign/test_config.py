from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.campaign.config import describe, first_difference, snake, to_toml
from shortlist.costs import Seconds
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import ShortlistError
from tests.campaign.toys import campaign


def test_parts_are_described_with_all_their_settings() -> None:
    query = CandidateSet(n_cal=7, alpha=0.1, cost=Seconds(1.0, 2.0))
    assert describe(query) == {
        "name": "candidate_set",
        "n_cal": 7,
        "alpha": 0.1,
        "search": "exact",
        "quantile": "plain",
        "score": {"name": "lac"},
        "cost": {"name": "seconds", "a": 1.0, "b": 2.0},
    }
    assert describe(CostAware(Entropy(), d=1.2)) == {"name": "cost_aware", "inner": {"name": "entropy"}, "d": 1.2}


def test_numpy_numbers_and_paths_are_plain() -> None:
    found = describe({"seed": np.int64(3), "d": np.float64(0.5), "at": Path("a/b"), "on": np.True_, "of": (1, 2)})
    assert found == {"seed": 3, "d": 0.5, "at": "a/b", "on": True, "of": [1, 2]}
    assert [type(v) for v in found.values()] == [int, float, str, bool, list]


def test_other_objects_are_known_by_their_name() -> None:
    assert describe(object()) == {"name": "builtins.object"}


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1, "b": 2.5, "c": True, "d": "x"},
        {"text": 'quotes " and \\ and\nlines\tand \x7f and ü'},
        {"list": [1, 2], "mixed": [{"name": "a", "d": 0.3}, {"name": "b"}], "empty": []},
        {"table": {"inner": {"deep": 1}, "x": 2}, "y": 3},
        {"strange key.": 1, "table.": {"ü ü": 2}},
        {"inf": float("inf"), "tiny": 1e-300, "large": 10**15},
        {},
    ],
)
def test_toml_reads_back_what_was_written(values: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(values)) == values


def test_what_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(ShortlistError, match=r"cannot be written as TOML"):
        to_toml({"x": None})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1}, {"a": 1, "b": 2}, "b = null, not 2"),
        ({"a": 1, "b": 2}, {"a": 1}, "b = 2, not null"),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": "x"}}}, 'a.b.c = 1, not "x"'),
        ({"a": [1, 2]}, {"a": [1, 3]}, "a = [1, 2], not [1, 3]"),
    ],
)
def test_the_first_difference_in_words(old: Any, new: Any, words: str | None) -> None:
    assert first_difference(old, new) == words


def test_names_as_recipes_have_them() -> None:
    @dataclass
    class TypiClust: ...

    assert snake("TypiClust") == "typi_clust"
    assert describe(TypiClust()) == {"name": "typi_clust"}


def test_a_campaign_folder_says_what_was_asked_for(tmp_path: Path) -> None:
    with campaign(tmp_path, seed=np.int64(4), ahead=99) as going:
        kept = tomllib.loads((tmp_path / "campaign.toml").read_text("utf-8"))
        assert kept == going.config
    assert kept["seed"] == 4
    assert kept["ahead"] == 5  # budget − n_cal
    assert kept["stop"] == {"rounds": 4, "tolerance": 0.1}
    assert kept["dataset"]["items"] == 40


# --- parts of one's own ----------------------------------------------------------------------------------------


class Held:
    """What says nothing of itself."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def test_public_attributes_that_say_something_are_described() -> None:
    held = Held(k=3, where=Path("a"), few=(1, 2.5), cost=Seconds(), estimator=LogisticRegression(C=2), _seen=4, coef_=5)
    held.__dict__.update(nothing=None, handle=object(), mixed=[1, None], kinds=frozenset({"b", "a"}), bad=float("nan"))
    held.__dict__.update(table={"a": 1, "b": {"c": "x"}}, odd={"a": 1, "b": object()}, made=Seconds)
    table = describe(held)
    assert table.pop("name").endswith("test_config.Held")
    assert table.pop("estimator")["C"] == 2
    assert table == {
        "k": 3,
        "where": "a",
        "few": [1, 2.5],
        "cost": {"name": "seconds", "a": 0.0, "b": 1.59},
        "kinds": {"name": "builtins.frozenset", "members": ["a", "b"]},
        "bad": "nan",
        "table": {"a": 1, "b": {"c": "x"}},
    }
    assert first_difference(describe(held), describe(held)) is None
    assert tomllib.loads(to_toml(describe(held)))["cost"]["b"] == 1.59


def test_arrays_are_described_by_their_digest_and_networks_by_their_name() -> None:
    one, same, other = (describe(Held(weights=np.arange(3) + add)) for add in (0, 0, 1))
    assert first_difference(one, same) is None
    assert str(first_difference(one, other)).startswith("weights.digest = ")
    assert list(describe(Held(state_dict=1, training=True))) == ["name"]


def test_a_loop_of_parts_ends() -> None:
    one = Held(k=1)
    one.friend = Held(back=one)  # type: ignore[attr-defined]
    assert describe(one)["k"] == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"name": "my.Part"}, {"name": "my.Part", "k": 3}),
        ({"name": "builtins.frozenset"}, describe(frozenset({"a"}))),
        ({"k": 3}, {"name": "my.Part", "k": 3}),  # a spec that names nothing
    ],
)
def test_what_earlier_versions_wrote_down_is_enough(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert first_difference({"model": old}, {"model": new}) is None
    assert first_difference({"model": new}, {"model": {**new, "name": "my.Other"}}) is not None


def test_a_spec_is_a_table() -> None:
    class Wrong:
        def spec(self) -> str:
            return "k=3"

    with pytest.raises(ShortlistError, match=r"Wrong: spec\(\) has to give its settings by name, got str"):
        describe(Wrong())


@dataclasses.dataclass
class Partly:
    k: int
    found: int = dataclasses.field(default=0, repr=False)


def test_a_field_that_is_not_shown_is_no_setting() -> None:
    """It is what a part has found, and may differ when a campaign goes on."""
    assert describe(Partly(3, found=7)) == describe(Partly(3, found=8))
    assert "found" not in describe(Partly(3))
    assert describe(Partly(3))["k"] == 3


def test_what_was_changed_between_starts_is_written_down(tmp_path: Path) -> None:
    campaign(tmp_path).close()
    with campaign(tmp_path, rounds=9) as going:
        kept = tomllib.loads((tmp_path / "campaign.toml").read_text("utf-8"))
        assert kept == going.config == going.store.config()
        assert kept["stop"]["rounds"] == 9


def test_what_a_killed_start_left_of_the_file_is_cleared(tmp_path: Path) -> None:
    campaign(tmp_path).close()
    (tmp_path / "campaign.toml.1234.new").write_text("half")
    campaign(tmp_path, rounds=9).close()
    assert sorted(path.name for path in tmp_path.glob("campaign.toml*")) == ["campaign.toml"]
