"""A real campaign, to be killed: python -m tests.campaign.victim FOLDER SEED."""

from __future__ import annotations

import sys
from typing import Any

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.engine import Campaign
from shortlist.campaign.schedule import Doubling, Fixed
from shortlist.datasets.builtin.digits import Digits
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.nested import Nested


def main(folder: str, seed: int) -> None:
    """The paper's way; with every second seed what asks no calibration questions and learns early."""
    dataset, model = Digits(), Scikit()
    papers: dict[str, Any] = {"query": CandidateSet(n_cal=30), "schedule": Fixed(initial=100, budget=100)}
    early: dict[str, Any] = {"query": Nested(), "schedule": Doubling(first=20, most=200)}
    print("ready", flush=True)
    with Campaign(
        folder,
        dataset=dataset,
        model=model,
        acquisition=CostAware(Entropy()),
        **(early if seed % 2 else papers),
        rounds=8,
        holdout=20,
        seed=seed,
        watch=lambda step: print(step.name, flush=True),
    ) as campaign:
        for _ in campaign.run(Simulated(dataset.labels)):
            pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
