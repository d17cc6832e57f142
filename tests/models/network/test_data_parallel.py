"""Two processes that share every batch train the network that one process trains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from shortlist import Campaign, CandidateSet, Entropy, Network, Simulated
from shortlist.models.network.data_parallel import DataParallelTrainer, _check_room
from shortlist.models.network.trainer import Trainer
from shortlist.models.network.training import Training
from shortlist.types import Labelled, ShortlistError
from tests.models.networks import Plain
from tests.models.pictures import stripes

DATA = stripes(60, n_classes=3)
TRAINING = Training(batch=8, epochs=0, min_steps=10, rate=0.05, mix_up=0)
LABELLED = Labelled(np.arange(30), DATA.labels[:30], 3)
REJECTED = Labelled(np.arange(30), DATA.labels[:30], 3, np.arange(30, 40), np.eye(3, dtype=np.bool_)[[0, 1] * 5])


@pytest.fixture(scope="module")
def group() -> Iterator[DataParallelTrainer]:
    made = DataParallelTrainer(partial(Plain, 3), DATA.inputs, 3, TRAINING, torch.device("cpu"), size=2)
    yield made
    made.close()


@pytest.mark.parametrize("labelled", [LABELLED, REJECTED], ids=["full", "partial"])
def test_two_processes_are_one(group: DataParallelTrainer, labelled: Labelled) -> None:
    alone = Trainer(partial(Plain, 3), DATA.inputs, 3, TRAINING, torch.device("cpu"))
    alone.fit(labelled, np.random.default_rng(1))
    group.fit(labelled, np.random.default_rng(1))
    for ours, theirs in zip(group.net.parameters(), alone.net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_a_second_group_in_one_process_is_refused(group: DataParallelTrainer) -> None:
    with pytest.raises(ShortlistError, match="belongs to a process group already"):
        DataParallelTrainer(partial(Plain, 3), DATA.inputs, 3, TRAINING, torch.device("cpu"), size=2)


def test_too_little_shared_memory_is_said(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"images take 1000000000\.00 GB of shared memory"):
        _check_room(10**18, tmp_path)


def test_a_campaign_on_two_devices(group: DataParallelTrainer, tmp_path: Path) -> None:
    group.close()  # a process can belong to one group at a time
    training = {"epochs": 0, "min_steps": 30, "batch": 32, "rate": 0.1, "flip": False}
    model = Network(width=8, training=training, device="cpu", devices=2)
    with Campaign(
        tmp_path / "two",
        dataset=DATA,
        model=model,
        query=CandidateSet(n_cal=4),
        acquisition=Entropy(),
        initial=24,
        budget=10,
        rounds=2,
    ) as campaign:
        rounds = list(campaign.run(Simulated(DATA.labels)))
    model.close()
    assert [r.number for r in rounds] == [1, 2]
    assert rounds[-1].accuracy is not None
    assert rounds[-1].accuracy > 0.5
