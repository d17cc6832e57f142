"""What README shows is run, word for word."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shortlist.cli import demo
from tests.cases import torture
from tests.cli.command import Command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.split("  #")[0].strip() for line in README.splitlines() if line.startswith("shortlist ")]
SERVED = {"label", "study"}  # tests/web opens them in a browser


@pytest.fixture
def shortlist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


@pytest.mark.parametrize("code", PYTHON, ids=["campaign", "early", "parts", "people", "checks"])
@pytest.mark.usefixtures("shortlist")
def test_python_examples_run_and_print(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("seeds", ["[0]", pytest.param("[0, 1, 2]", marks=torture)])
def test_commands_run_in_the_order_shown(shortlist: Command, monkeypatch: pytest.MonkeyPatch, seeds: str) -> None:
    assert "\nseeds = [0, 1, 2]\n" in demo.RECIPE
    monkeypatch.setattr("shortlist.cli.demo.RECIPE", demo.RECIPE.replace("[0, 1, 2]", seeds))
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(5), size=50).astype(np.float32)
    np.save("p.npy", probs)
    np.save("c.npy", probs)
    np.save("y.npy", rng.integers(0, 5, 50))
    own_data()
    verbs = ["label", "init", "init", "label", "demo", "run", "run", "report", "results", "compare", "sets", "export"]
    assert [c.split()[1] for c in COMMANDS] == [*verbs, "import", "study"]
    for command in COMMANDS:
        _, verb, *arguments = shlex.split(command)
        if verb in SERVED:
            continue
        if verb == "run":  # tests/paper runs the one, which needs the real R52, and test_smoke.py the other
            assert (ROOT / arguments[0]).is_file()
            continue
        got = shortlist(verb, *arguments)
        assert got.code == 0, got.err
    assert Path("runs/demo/digits/report.html").is_file()
    assert Path("labels.parquet").is_file()


def own_data() -> None:
    """photos, classes.txt and mail.csv, as the page has them."""
    Path("photos").mkdir()
    for i in range(8):
        Image.fromarray(np.full((9, 9, 3), 20 * i, np.uint8)).save(f"photos/{i}.png")
    Path("classes.txt").write_text("jay\nmagpie\nwren\n")
    Path("mail.csv").write_text(
        "body,topic\n" + "".join(f"mail {i},{'spam' if i % 3 else ''}\n" for i in range(8)) + "hi,ham\n"
    )


def test_make_targets_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make (\w+)", README + (ROOT / "CONTRIBUTING.md").read_text()):
        assert f"\n{target}:" in makefile, target


def test_links_lead_somewhere() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r"`((?:docs|recipes)/[\w./-]+)`", README):
        assert (ROOT / path).exists(), path
