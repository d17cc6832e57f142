"""`asked.npz`: enough to charge any design afterwards."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from shortlist import measures
from shortlist.acquisition.entropy import Entropy
from shortlist.campaign.storage.folder import Asked
from shortlist.costs import Linear
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.queries.oracle import Oracle
from shortlist.queries.top_k import TopK
from shortlist.types import ShortlistError
from tests.campaign.toys import asked, data, run

DATA = data(60)
QUERY = CandidateSet(n_cal=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "run"
    run(folder, DATA, holdout=5, rounds=None)
    return folder


def test_the_file_holds_what_the_design_says(folder: Path) -> None:
    with np.load(folder / "rounds" / "003" / "asked.npz", allow_pickle=False) as found:
        assert {"keys", "items", "probs", "calibration", "prices", "alpha", "threshold"} <= set(found.files)
        assert found["probs"].shape == (8, 5)
        assert found["probs"].dtype == np.float32
        assert found["keys"].tolist() == [f"item{i}" for i in found["items"]]
        assert found["calibration"].sum() == 3


def test_it_reads_back_what_was_written(folder: Path, tmp_path: Path) -> None:
    said = asked(folder, 2)
    said.write(tmp_path / "new" / "asked.npz")
    again = Asked.read(tmp_path / "new" / "asked.npz")
    assert again.keys.tolist() == said.keys.tolist()
    assert np.array_equal(again.probs, said.probs)
    assert math.isnan(again.threshold_before)
    assert again.threshold == said.threshold
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["asked.npz"]


@pytest.mark.parametrize("query", [QUERY, CandidateSet(n_cal=3, alpha=0.2), TopK(2), Conventional()])
def test_charging_a_campaigns_own_design_gives_its_ledger_exactly(tmp_path: Path, query: CandidateSet | TopK) -> None:
    rounds = run(tmp_path, DATA, query=query, holdout=5, rounds=None)
    again = measures.recharge(tmp_path, query)
    assert [r.cost for r in again] == [r.cost for r in rounds]
    assert [r.relative_cost for r in again] == [r.relative_cost for r in rounds]
    assert [r.coverage for r in again[1:]] == pytest.approx([r.coverage for r in rounds[1:]])
    assert [r.mean_set_size for r in again[1:]] == pytest.approx([r.mean_set_size for r in rounds[1:]])


def test_a_conventional_campaign_is_charged_for_candidate_sets_as_their_own_campaign_is(tmp_path: Path) -> None:
    run(tmp_path / "cq", DATA, query=Conventional(), acquisition=Entropy())
    csq = run(tmp_path / "csq", DATA, query=QUERY, acquisition=Entropy())
    assert [r.cost for r in measures.recharge(tmp_path / "cq", QUERY)] == [r.cost for r in csq]


def test_the_other_way_round(folder: Path) -> None:
    rounds = measures.recharge(folder, Conventional())
    assert rounds[-1].cost == pytest.approx(55 * math.log2(5))
    assert rounds[-1].relative_cost == pytest.approx(55 / 60)
    assert (rounds[-1].lists, rounds[-1].coverage) == (0, None)


def test_the_oracle_both_ways(folder: Path) -> None:
    with_none = measures.recharge(folder, Oracle())
    authors = measures.recharge(folder, Oracle(none_option=False))
    first = 8 * math.log2(5)
    ranks = []
    for number in range(2, len(with_none) + 1):
        said = asked(folder, number)
        truth = DATA.labels[said.items]
        own = said.probs[np.arange(len(truth)), truth]
        ranks += (said.probs >= own[:, None]).sum(axis=1).tolist()
    assert with_none[-1].cost == pytest.approx(first + sum(math.log2(r + 1) if r < 5 else math.log2(5) for r in ranks))
    assert authors[-1].cost == pytest.approx(first + sum(math.log2(r) for r in ranks))
    own_design = measures.recharge(folder, QUERY)[-1].cost
    assert authors[-1].cost < with_none[-1].cost < own_design
    assert {r.coverage for r in with_none[1:] if r.lists} == {1.0}


def test_another_cost_model(folder: Path) -> None:
    assert measures.recharge(folder, Conventional(Linear(2.0)))[-1].cost == pytest.approx(55 * 10)


def test_partial_labels_cannot_be_charged_otherwise(tmp_path: Path) -> None:
    run(tmp_path, DATA, query=OneBit(), rounds=2)
    with pytest.raises(ShortlistError, match="partial labels"):
        measures.recharge(tmp_path, Conventional())


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbage", "another"])
def test_a_damaged_file_is_named(folder: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "asked.npz"
    whole = (folder / "rounds" / "002" / "asked.npz").read_bytes()
    texts = {"empty": b"", "cut": whole[: len(whole) // 2], "garbage": b"no such thing" * 99}
    if damage == "another":
        np.save(path.with_suffix(".npy"), np.zeros(3))
        path.with_suffix(".npy").rename(path)
    elif damage != "missing":
        path.write_bytes(texts[damage])
    with pytest.raises(ShortlistError, match=r"asked\.npz: cannot be read .*put back a copy"):
        Asked.read(path)


def test_a_round_that_only_calibrates_has_no_list(tmp_path: Path) -> None:
    run(tmp_path, DATA, query=CandidateSet(n_cal=8), rounds=2)
    last = measures.recharge(tmp_path, CandidateSet(n_cal=8))[-1]
    assert (last.mean_set_size, last.coverage, last.lists, last.full) == (None, None, 0, 0)
