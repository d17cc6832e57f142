"""A real campaign, to be killed: python -m tests.campaign.victim FOLDER SEED."""

from __future__ import annotations

import sys

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.engine import Campaign
from shortlist.datasets.builtin.digits import Digits
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CandidateSet


def main(folder: str, seed: int) -> None:
    dataset, model = Digits(), Scikit()
    print("ready", flush=True)
    with Campaign(
        folder,
        dataset=dataset,
        model=model,
        query=CandidateSet(n_cal=30),
        acquisition=CostAware(Entropy()),
        initial=100,
        budget=100,
        rounds=8,
        holdout=20,
        seed=seed,
        watch=lambda step: print(step.name, flush=True),
    ) as campaign:
        for _ in campaign.run(Simulated(dataset.labels)):
            pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
