"""Parts of one's own in recipes: run where they are trusted, and never by opening what came from elsewhere."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from shortlist import ShortlistError, measures
from shortlist.cli.label import command
from shortlist.experiments.method_names import explained, label
from shortlist.experiments.sweep import sweep
from shortlist.recipes.build import open_campaign, settings_in
from shortlist.recipes.parts import build
from shortlist.recipes.recipe import jobs, read_recipe
from tests.cli.command import Command, snapshot
from tests.cli.conftest import shortlist as shortlist

MINE = """
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shortlist import Conventional, Entropy
from shortlist.acquisition.method import Scored
from sklearn.naive_bayes import GaussianNB

(Path(__file__).parent / "it-ran").touch()


@dataclass(frozen=True)
class Gini(Scored):
    short = "Gini^{power}"
    about = "Items are picked whose classes are mixed most."

    power: int = 2

    def gains(self, batch):
        return 1 - (batch.probs**self.power).sum(1)


class Asked(Conventional):
    pass


class Bayes(GaussianNB):
    pass


number = 3
"""
RECIPE = """
initial = 30
budget = 20
rounds = 2
dataset = "digits"
model = { name = "scikit", estimator = "mine:Bayes(var_smoothing=0.1)" }
query = "mine:Asked"

[acquisitions]
Gini = "mine:Gini"
"Cost(Gini)" = { name = "cost_aware", inner = { name = "mine:Gini", power = 3 } }
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(MINE)
    (tmp_path / "own" / "own.toml").write_text(RECIPE)
    return tmp_path / "own" / "own.toml"


def run(recipe: Path, *, code: Path | None, workers: int = 1) -> list[Path]:
    listed = jobs(read_recipe(recipe), recipe.parent / "runs")
    sweep(listed, data=None, workers=workers, console=Console(file=io.StringIO()), code=code)
    return [job.folder for job in listed]


@pytest.mark.parametrize("workers", [1, 2])
def test_parts_in_a_file_beside_the_recipe_run_go_on_and_are_called_what_their_author_calls_them(
    recipe: Path, workers: int
) -> None:
    folders = run(recipe, code=recipe.parent, workers=workers)
    before = [measures.read(folder) for folder in folders]
    assert [label(record.config) for record in before] == ["Asked+Gini^2", "Asked+Cost(Gini^3)"]
    assert [len(record.rounds) for record in before] == [2, 2]
    assert before[0].config["model"]["estimator"] == "mine:Bayes(var_smoothing=0.1)"
    assert before[0].config["acquisition"]["name"] == "mine:Gini"
    about = explained("acquisition", before[1].config["acquisition"])
    assert about["Gini^3"] == "Items are picked whose classes are mixed most."
    assert run(recipe, code=recipe.parent) == folders
    assert [measures.read(folder) for folder in folders] == before


def test_the_command_line_trusts_a_recipe_where_it_says_so(recipe: Path, shortlist: Command) -> None:
    done = shortlist("run", recipe, "--only", "Gini", "--no-report", "--trust-code", "--out", "runs")
    assert done.code == 0, done.err
    assert "Asked+Gini^2" in done.out
    again = shortlist("run", recipe, "--only", "Gini", "--no-report", "--out", "runs")  # trusted once is not for ever
    assert "say so with --trust-code" in again.err


def test_a_campaigns_own_settings_build_its_parts_again(recipe: Path) -> None:
    (folder, _) = run(recipe, code=recipe.parent)
    again = read_recipe(folder / "campaign.toml")
    made = build("acquisition", again.acquisition or "", "acquisition", recipe.parent)
    assert repr(made) == "Gini(power=2)"
    assert made.recipe_name == "mine:Gini"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine:Missing", r"there is no class 'Missing' in .*mine\.py"),
        ("mine:number", "there is no class 'number'"),
        ("mine:Entropy", "there is no class 'Entropy'"),  # which is ours, and has a name already
        ("other:Gini", r"is a class in a file beside the recipe, and there is no .*other\.py"),
        ("../own/mine:Gini", "is a class in a file beside the recipe"),
        ("broken:Gini", r"broken\.py fails: ZeroDivisionError"),
    ],
)
def test_what_is_not_there_is_refused(recipe: Path, name: str, message: str) -> None:
    (recipe.parent / "broken.py").write_text("1 / 0\n")
    with pytest.raises(ShortlistError, match=f"^here.name: .*{message}"):
        build("acquisition", name, "here", recipe.parent)


# --- a folder from elsewhere -----------------------------------------------------------------------------------

SENT = """
initial = 10
budget = 10
dataset = {dataset}
model = {model}
query = {query}
acquisition = {acquisition}
"""
OURS = {"dataset": '"digits"', "model": '"scikit"', "query": '"conventional"', "acquisition": '"random"'}
THEIRS = [
    {"dataset": '"mine:Gini"'},
    {"model": '"mine:Gini"'},
    {"query": '"mine:Asked"'},
    {"acquisition": '"mine:Gini"'},
    {"acquisition": '{ name = "cost_aware", inner = "mine:Gini" }'},
    {"model": '{ name = "scikit", estimator = "mine:Bayes()" }'},
    {"query": '{ name = "candidate_set", cost = "mine:Gini" }'},
    {"query": '{ name = "candidate_set", score = { name = "mine:Gini" } }'},
]


@pytest.mark.parametrize("theirs", THEIRS, ids=str)
def test_a_folder_that_came_from_elsewhere_runs_no_code_by_being_opened(
    tmp_path: Path, theirs: dict[str, str], shortlist: Command
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "campaign.toml").write_text(SENT.format(**{**OURS, **theirs}))
    before = snapshot(folder)
    for arguments in (
        ("label", "sent", "--no-browser"),
        ("run", "sent/campaign.toml", "--set", "annotator=simulated", "--set", "rounds=1"),
        ("run", "sent/campaign.toml", "--jobs", "2", "--set", "annotator=simulated", "--set", "rounds=1"),
    ):
        done = shortlist(*arguments)
        assert done.code == 1
        assert "is code in mine.py; if you trust that file, say so with --trust-code" in done.err
    with subprocess.Popen(command(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdin is not None
        said = next(
            line for line in worker.stdout if '"used"' not in line
        )  # it says every few seconds that it is alive
        worker.stdin.close()  # which ends it
    assert "say so with --trust-code" in said
    for refused in (open_campaign, settings_in):
        with pytest.raises(ShortlistError, match="say so with --trust-code"):
            refused(folder)
    assert snapshot(folder) == before


def test_the_verbs_that_read_a_finished_campaign_run_no_code(recipe: Path, shortlist: Command) -> None:
    folders = run(recipe, code=recipe.parent)
    for folder in folders:  # as if the files had been sent with it
        (folder / "mine.py").write_text(MINE)
    (recipe.parent / "it-ran").unlink()
    for arguments in (
        ("report", str(recipe.parent / "runs")),
        ("results", str(recipe.parent / "runs"), "-o", "kept.parquet"),
        ("export", str(folders[0]), "labels.csv"),
    ):
        done = shortlist(*arguments)
        assert done.code == 0, done.err
    assert not list(recipe.parent.rglob("it-ran"))
    page = (recipe.parent / "runs" / "report.html").read_text("utf-8")
    assert "Asked+Gini^2" in page
    assert "Items are picked whose classes are mixed most." in page


def test_the_worker_of_a_campaign_trusts_what_its_server_does(tmp_path: Path) -> None:
    assert command(tmp_path, True)[-2:] == [str(tmp_path), "--trust-code"]
    assert command(tmp_path)[-1] == str(tmp_path)


def test_a_folder_of_ones_own_is_labelled_with_its_parts(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "campaign.toml").write_text(SENT.format(**{**OURS, "acquisition": '"mine:Gini"'}))
    with open_campaign(tmp_path, trust_code=True) as campaign:
        assert len(campaign.questions()) == 10
    assert (tmp_path / "it-ran").exists()
