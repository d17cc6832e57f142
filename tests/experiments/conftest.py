"""Small campaigns that are run once for all tests of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist import Campaign, CandidateSet, Conventional, CostAware, Digits, Entropy, Random, Scikit, Simulated
from shortlist.plans import QueryDesign
from shortlist.types import Acquisition

GRID: dict[str, tuple[QueryDesign, Acquisition]] = {
    "cq-rand": (Conventional(), Random()),
    "csq-rand": (CandidateSet(n_cal=30), Random()),
    "csq-cost-ent": (CandidateSet(n_cal=30), CostAware(Entropy(), d=0.3)),
}


def start(folder: Path, query: QueryDesign, acquisition: Acquisition, seed: int = 0) -> Campaign:
    settings: dict[str, Any] = {"initial": 60, "budget": 80, "rounds": 3, "seed": seed}
    return Campaign(folder, dataset=Digits(), model=Scikit(), query=query, acquisition=acquisition, **settings)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods, two seeds each, finished."""
    folder = tmp_path_factory.mktemp("runs")
    for name, (query, acquisition) in GRID.items():
        for seed in (0, 1):
            campaign = start(folder / name / f"seed{seed}", query, acquisition, seed)
            list(campaign.run(Simulated(Digits().labels)))
            campaign.close()
    return folder
