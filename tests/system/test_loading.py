"""What is loaded when: each of these programs, one after the other in one process, loads no more than it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAMS = {
    "datasets": """
from shortlist.datasets import arrays, image_folder, table
from shortlist.datasets.builtin import digits, glyphs
""",
    "names of models that use torch": """
import shortlist
import shortlist.models.encoders.features_cache
shortlist.LinearProbe, shortlist.Hub, shortlist.Network
""",
    "a spec": """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from shortlist import Scikit
def double(x): return 2 * x
said = Scikit(make_pipeline(FunctionTransformer(double), LogisticRegression())).spec()["estimator"]
""",
    "SAAL with logistic regression": """
from types import SimpleNamespace
import numpy as np
from shortlist import Labelled, Saal
model = Scikit()
model.prepare(SimpleNamespace(name="x", kind="features", inputs=np.eye(4), test_inputs=None))
model.fit(Labelled(np.arange(3), np.arange(3), 3), rng=np.random.default_rng(0))
said = Saal().select(None, losses=model.perturbed_loss(np.arange(4)), n=1, rng=np.random.default_rng(0)).tolist()
""",
    "an encoder": """
from shortlist import Hub
hub = Hub("facebook/dino-vits16", device="cpu")
""",
    "where it runs": """
from shortlist.experiments.provenance import this_start
said = this_start(1, hub).torch
""",
}
DRIVER = """
import json, sys
seen = {}
for name, program in json.load(sys.stdin).items():
    space["said"] = None
    exec(program, space)
    loaded = sorted({module.split(".")[0] for module in sys.modules} & WATCHED)
    seen[name] = {"said": space["said"], "loaded": loaded}
print(json.dumps(seen))
"""
WATCHED = {"scipy", "sklearn", "pyarrow", "PIL", "matplotlib", "rich", "torch", "transformers"}


@pytest.fixture(scope="module")
def seen() -> Any:
    driver = f"space, WATCHED = {{'__name__': '__main__'}}, {WATCHED}\n{DRIVER}"
    command = [sys.executable, "-c", driver]
    done = subprocess.run(command, input=json.dumps(PROGRAMS), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_every_source_stays_light(seen: Any) -> None:
    assert seen["datasets"]["loaded"] == []


@pytest.mark.parametrize("name", list(PROGRAMS)[:-1])
def test_torch_is_loaded_for_networks_alone(seen: Any, name: str) -> None:
    assert not {"torch", "transformers"} & {*seen[name]["loaded"]}


def test_logistic_regression_perturbs_its_loss_without_torch(seen: Any) -> None:
    assert seen["SAAL with logistic regression"]["said"] == [3]


def test_a_model_that_uses_torch_is_credited_to_it_before_it_is_loaded(seen: Any) -> None:
    assert seen["where it runs"]["said"].startswith("2.")


def test_the_spec_is_the_same_in_every_process(seen: Any) -> None:
    here: dict[str, Any] = {"__name__": "__main__"}
    exec(PROGRAMS["a spec"], here)
    assert here["said"] == seen["a spec"]["said"]
    assert "double" in here["said"]
    assert "0x" not in here["said"]
