"""A network as a model of a campaign."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shortlist import (
    Arrays,
    Badge,
    Campaign,
    CandidateSet,
    CoreSet,
    CostAware,
    Entropy,
    Network,
    OneBit,
    ProbCover,
    Saal,
    Simulated,
    TypiClust,
)
from shortlist.campaign.config import describe
from shortlist.models.network.network import FILE
from shortlist.system.files import read_npz
from shortlist.types import Labelled, Round, ShortlistError
from tests.campaign.killing import ROOT
from tests.campaign.toys import snapshot
from tests.cases import torture
from tests.models.pictures import stripes

DATA = stripes()
WITH_FEATURES = Arrays(
    DATA.inputs,
    DATA.labels,
    features=DATA.inputs.reshape(len(DATA), -1).astype(np.float32) - 128,
    test_inputs=DATA.test_inputs,
    test_labels=DATA.test_labels,
)
SMALL: dict[str, Any] = {"epochs": 0, "min_steps": 12, "batch": 32, "rate": 0.1, "flip": False}
LABELLED = Labelled(np.arange(0, 120, 2), DATA.labels[::2], 4)


def network(**settings: Any) -> Network:
    return Network(width=8, training={**SMALL, **settings.pop("training", {})}, device="cpu", **settings)


@pytest.fixture(scope="module")
def learnt() -> Network:
    model = network(training={"min_steps": 60})
    model.prepare(DATA)
    model.fit(LABELLED, rng=np.random.default_rng(0))
    return model


def run(folder: Path, model: Network, **settings: Any) -> list[Round]:
    given: dict[str, Any] = {"query": CandidateSet(n_cal=6), "acquisition": CostAware(Entropy())} | settings
    given = {"dataset": DATA} | given
    with Campaign(folder, model=model, initial=20, budget=15, rounds=3, **given) as campaign:
        return list(campaign.run(Simulated(DATA.labels)))


def test_it_learns_and_predicts_in_order(learnt: Network) -> None:
    batches = list(learnt.predict_test())
    probs = torch.cat([b.probs for b in batches])
    assert probs.shape == (60, 4)
    torch.testing.assert_close(probs.sum(dim=1), torch.ones(60))
    assert (probs.argmax(dim=1).numpy() == DATA.test_labels).mean() > 0.8
    items = np.array([7, 3, 99])
    [some] = learnt.predict(items)
    [others] = learnt.predict(items[::-1].copy())
    torch.testing.assert_close(some.probs, others.probs.flip(0))
    assert some.embeddings is not None
    assert some.embeddings.shape == (3, 64)
    [again] = learnt.predict(items)
    assert again.probs.equal(some.probs)


def test_predictions_of_an_earlier_fit_are_refused() -> None:
    model = network(training={"min_steps": 2})
    model.prepare(DATA)
    model.fit(LABELLED, rng=np.random.default_rng(0))
    stream = model.predict(np.arange(3))
    model.fit(LABELLED, rng=np.random.default_rng(1))
    with pytest.raises(ShortlistError, match="has learnt anew"):
        list(stream)


def test_what_was_kept_says_the_same(learnt: Network, tmp_path: Path) -> None:
    for number in ("001", "002"):
        (tmp_path / number).mkdir()
        learnt.save(tmp_path / number)
    assert [p.parent.name for p in tmp_path.glob(f"*/{FILE}")] == ["002"]
    other = network()
    other.prepare(DATA)
    assert other.load(tmp_path / "002", LABELLED)
    [a], [b] = learnt.predict(np.arange(9)), other.predict(np.arange(9))
    assert a.probs.equal(b.probs)
    assert not other.load(tmp_path / "001", LABELLED)
    assert not other.load(tmp_path / "002", Labelled(LABELLED.items, LABELLED.labels, 5))  # a class came in between
    (tmp_path / "002" / FILE).write_bytes(b"broken")
    assert not other.load(tmp_path / "002", LABELLED)


def test_all_rounds_are_kept_if_asked(learnt: Network, tmp_path: Path) -> None:
    model = network(keep="all", training={"min_steps": 2})
    run(tmp_path / "all", model)
    assert len(list((tmp_path / "all").glob(f"rounds/*/{FILE}"))) == 3


def test_the_same_step_serves_another_campaign_on_the_same_data() -> None:
    model = network(training={"min_steps": 2})
    model.prepare(DATA)
    model.fit(LABELLED, rng=np.random.default_rng(0))
    before = model._trainer
    model.prepare(DATA)
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(2))
    model.fit(LABELLED, rng=np.random.default_rng(0))
    assert model._trainer is before
    model.prepare(stripes(seed=1))
    model.fit(LABELLED, rng=np.random.default_rng(0))
    assert model._trainer is not before


@pytest.mark.parametrize("ascent", ["item", "batch"])
def test_perturbed_losses(learnt: Network, ascent: str) -> None:
    learnt.ascent = ascent  # type: ignore[assignment]
    items = np.arange(40)
    losses = learnt.perturbed_loss(items)
    [said] = learnt.predict(items)
    plain = -said.probs.max(dim=1).values.log()
    assert losses.shape == (40,)
    assert torch.isfinite(losses).all()
    assert (losses > plain).float().mean() > 0.9  # a step up the loss
    assert learnt.perturbed_loss(items[:0]).shape == (0,)


@pytest.mark.parametrize(
    "acquisition",
    [
        pytest.param(Badge(), id="BADGE"),  # reads embeddings
        pytest.param(CostAware(Saal()), id="Cost(SAAL)", marks=torture),  # perturbed losses
        pytest.param(ProbCover(), id="ProbCover", marks=torture),  # features
        pytest.param(CostAware(Entropy()), id="Cost(Ent)", marks=torture),
        pytest.param(TypiClust(), id="TypiClust", marks=torture),
        pytest.param(CoreSet(), id="CoreSet", marks=torture),
    ],
)
def test_a_campaign(acquisition: Any, tmp_path: Path) -> None:
    rounds = run(
        tmp_path / "run",
        network(ascent="batch", training={"min_steps": 60}),
        acquisition=acquisition,
        dataset=WITH_FEATURES,
    )
    assert [r.labelled for r in rounds] == [20, 35, 50]
    accuracies = [r.accuracy for r in rounds]
    assert None not in accuracies
    assert accuracies[-1] > 0.6  # type: ignore[operator]
    assert rounds[-1].relative_cost < 50 / 120


def test_partial_labels_are_learnt_from(tmp_path: Path) -> None:
    kept = []
    for weight in (0.1, 0.0):
        folder, model = tmp_path / f"{weight}", network(training={"negative": weight})
        rounds = run(folder, model, query=OneBit(), acquisition=Entropy())
        assert rounds[-1].cost == pytest.approx(20 * 2 + 15 * 2)
        kept.append(read_npz(folder / "rounds" / "003" / FILE))
    heeded, ignored = kept
    assert heeded is not None
    assert ignored is not None
    assert not np.array_equal(heeded["head.weight"], ignored["head.weight"])


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = network()
    model.prepare(DATA)
    monkeypatch.setattr("shortlist.models.network.trainer.Trainer.fit", full)
    with pytest.raises(ShortlistError, match=r"too little memory for batches of 32; lower training\.batch"):
        model.fit(LABELLED, rng=np.random.default_rng(0))


def test_another_test_split_is_taken_up(learnt: Network) -> None:
    few = stripes(n_test=7)
    fewer = Arrays(DATA.inputs, DATA.labels, test_inputs=few.test_inputs, test_labels=few.test_labels)
    model = network(training={"min_steps": 2})
    for data, n in ((DATA, 60), (fewer, 7)):
        model.prepare(data)
        model.fit(LABELLED, rng=np.random.default_rng(0))
        assert sum(len(batch.probs) for batch in model.predict_test()) == n


def test_grey_images() -> None:
    grey = Arrays(DATA.inputs[..., 0], DATA.labels)
    model = network(training={"min_steps": 2})
    model.prepare(grey)
    model.fit(LABELLED, rng=np.random.default_rng(0))
    [said] = model.predict(np.arange(5))
    assert said.probs.shape == (5, 4)
    with pytest.raises(ShortlistError, match="no test split"):
        model.predict_test()


# --- interrupted -----------------------------------------------------------------------------------------------

VICTIM = """
import sys
from tests.models.test_network import Path, run, victim
run(Path(sys.argv[1]), victim(), watch=lambda step: print(step.name, flush=True))
"""


def victim() -> Network:
    return network(training={"min_steps": 25})  # some tenths of a second, of which it is killed after one


def killed_in(folder: Path, fits: int) -> None:
    """Run it, and kill it in the middle of the so-manieth training."""
    command = [sys.executable, "-c", VICTIM, str(folder)]
    begun = 0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            begun += line == "fit\n"
            if begun == fits:
                time.sleep(0.1)
                process.kill()
                break
    assert process.returncode == -9


@pytest.mark.parametrize("kills", [[2], pytest.param([1, 2], marks=torture)], ids=str)
def test_killed_while_training_it_goes_on_and_ends_the_same(kills: list[int], tmp_path: Path) -> None:
    """Labels and costs are there; the round that was being trained is trained again, and no other."""
    run(tmp_path / "whole", victim())
    for fits in kills:
        killed_in(tmp_path / "killed", fits)
    steps: list[str] = []
    run(tmp_path / "killed", victim(), watch=lambda step: steps.append(step.name))
    assert steps.count("fit") == 2  # of three rounds the second, again, and the third
    assert snapshot(tmp_path / "killed") == snapshot(tmp_path / "whole")


# --- refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"architecture": "resnet19"}, "network.architecture: 'resnet19' is none of resnet18, wrn-36-5"),
        ({"training": "slow"}, "training: 'slow' is none of"),
        ({"ascent": "all"}, "network.ascent: must be item or batch"),
        ({"keep": "some"}, "network.keep: must be last or all"),
        ({"devices": 0}, "network.devices: must be at least 1"),
        ({"architecture": "vit-s16", "width": 3}, "network.width: vit-s16 has none"),
    ],
)
def test_settings_are_refused_by_name(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ShortlistError, match=words):
        Network(**settings)


def test_what_it_cannot_do_is_said() -> None:
    model = network()
    with pytest.raises(ShortlistError, match="no data yet"):
        model.fit(LABELLED, rng=np.random.default_rng(0))
    with pytest.raises(ShortlistError, match="is for images, and arrays holds features"):
        model.prepare(Arrays(np.ones((3, 2)), [0, 1, 0]))
    model.prepare(DATA)
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(2))
    with pytest.raises(ShortlistError, match="cannot learn from no labels"):
        model.fit(Labelled(np.empty(0, np.int64), np.empty(0, np.int64), 4), rng=np.random.default_rng(0))
    if not torch.cuda.is_available():
        other = Network(device="cuda")
        with pytest.raises(ShortlistError, match="torch finds no GPU here; use auto or cpu"):
            other.prepare(DATA)
    with pytest.raises(ShortlistError, match="'gpu' is none of auto, cpu, cuda"):
        Network(device="gpu").prepare(DATA)


def test_what_the_campaigns_file_says() -> None:
    said = describe(Network("wrn-36-5", {"base": "imagenet64", "drops": [0.5]}, devices=4, keep="all"))
    assert said == {
        "name": "network",
        "architecture": "wrn-36-5",
        "training": {"base": "imagenet64", "drops": [0.5]},
        "devices": 4,
    }
