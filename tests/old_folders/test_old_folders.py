"""Folders written before the modules were regrouped reopen, go on and end as they did. See README.md beside this."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist import measures
from shortlist.rates import DIGITS, OF_ROUND, in_shares
from shortlist.recipes.build import open_campaign
from shortlist.study.app import study_app
from shortlist.web.app import label_app
from shortlist.web.people.people import People
from tests.old_folders.answering import OWNER, PEOPLE, Person, Visitor, everybody, go_on, seen
from tests.old_folders.outcome import outcome, shortlist, study_table

HERE = Path(__file__).parent
CAMPAIGNS = {"live": "campaign", "finished": "run/seed-3", "killed": "run/seed-3"}  # in which folder it lies
RUN = ("run", "recipe.toml", "--out", "run", "--no-report")


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of all folders, to be worked in: recipes name their data from where a command is started."""
    for name in (*CAMPAIGNS, "study"):
        shutil.copytree(HERE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(name: str, when: str) -> dict[str, Any]:
    """What the old code told of a folder before or after it went on."""
    found: dict[str, Any] = json.loads((HERE / name / "expected.json").read_text("utf-8"))
    for row in found.get(f"rounds {when}", []):  # percentages have ten digits behind the point since
        row.update({rate: round(row[rate], DIGITS) for rate in OF_ROUND if rate in row})
    return {key.removesuffix(f" {when}"): value for key, value in found.items() if key.endswith(f" {when}")}


def told(name: str, what: str) -> Any:
    return json.loads((HERE / name / "expected.json").read_text("utf-8"))[what]


def before(campaign: Path) -> dict[str, Any]:
    """The outcome as it is kept of folders that have not gone on: of the answers, how many."""
    found = outcome(campaign)
    return found | {"answers": len(found["answers"])}


@contextmanager
def labelling(campaign: Any) -> Iterator[dict[str, Person]]:
    """The campaign is served; its people, with the tokens that the old code gave them."""
    tokens = json.loads((HERE / "live" / "tokens.json").read_text("utf-8"))
    with closing(People(campaign.folder.path)) as accounts, TestClient(label_app(campaign, accounts)) as client:
        yield everybody(client, tokens)


# --- as they are -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_labels_costs_and_thresholds_are_read_as_they_were(copied: Path, name: str) -> None:
    assert before(copied / name / CAMPAIGNS[name]) == expected(name, "before")


def test_opening_a_campaign_changes_nothing(copied: Path) -> None:
    folder = copied / "live" / "campaign"
    with open_campaign(folder) as campaign:
        open_, finished = campaign.questions(), campaign.finished_rounds()
        with labelling(campaign):
            pass
    with open_campaign(folder) as again:
        assert (again.questions(), again.finished_rounds()) == (open_, finished)
    assert before(folder) == expected("live", "before")


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_is_reported(copied: Path, name: str) -> None:
    folder = copied / name / CAMPAIGNS[name]
    shortlist("report", folder)
    assert "<svg" in (folder / "report.html").read_text("utf-8")
    assert before(folder) == expected(name, "before")


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_floor_was_not_kept_and_is_had_from_the_folder(copied: Path, name: str) -> None:
    folder = copied / name / CAMPAIGNS[name]
    rounds, found = measures.read(folder).rounds, measures.floor(folder)
    assert {done.floor for done in rounds} == {None}
    assert [one.number for one in found] == [done.number for done in rounds]
    unknown = math.log2(28)  # bits a round, as nobody knows how far to believe a model
    assert all(0 < one.ideal <= done.cost + unknown * done.number for one, done in zip(found, rounds, strict=True))


# --- a campaign of several people, half way --------------------------------------------------------------------


def test_the_pages_of_a_live_campaign_show_the_same(copied: Path) -> None:
    with open_campaign(copied / "live" / "campaign") as campaign, labelling(campaign) as people:
        shown = told("live", "seen")
        shown["numbers"]["rounds"] = [in_shares({"coverage": None} | row) for row in shown["numbers"]["rounds"]]
        for row in shown["numbers"]["rounds"]:
            del row["coverage"]
        now = seen(people)
        for question in now["questions"]:  # read from what earlier versions kept of a round, too
            listed = [*question["classes"], *question.pop("order")]
            assert sorted(listed) == list(range(len(campaign.known.classes)))
        assert now == shown


def test_people_sign_in_with_their_old_passwords(copied: Path) -> None:
    with open_campaign(copied / "live" / "campaign") as campaign, labelling(campaign) as people:
        for name in (*PEOPLE, OWNER):
            client: Any = people[name].client
            signed_in = client.post("/api/sign-in", json={"name": name, "password": "a long password"})
            assert signed_in.status_code == 200, signed_in.text
            assert client.get("/api/me").json()["name"] == name


def test_a_live_campaign_goes_on_to_the_same_end(copied: Path) -> None:
    folder = copied / "live" / "campaign"
    with open_campaign(folder) as campaign:
        while campaign.questions():
            with labelling(campaign) as people:
                go_on(people)
        assert campaign.ending == told("live", "ending")
    assert outcome(folder) == expected("live", "after")


# --- simulated campaigns ---------------------------------------------------------------------------------------


def test_a_finished_campaign_is_left_alone(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copied / "finished")
    shortlist(*RUN)
    assert before(Path("run/seed-3")) == expected("finished", "before")


def test_a_finished_campaign_goes_on_where_its_end_is_moved(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copied / "finished")
    recipe = Path("recipe.toml")
    recipe.write_text(recipe.read_text("utf-8").replace("rounds = 4", "rounds = 7"), "utf-8")
    shortlist(*RUN)
    assert outcome(Path("run/seed-3")) == expected("finished", "after")


def test_a_killed_campaign_ends_as_one_that_was_not(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copied / "killed")
    shortlist(*RUN)
    assert outcome(Path("run/seed-3")) == outcome(copied / "finished" / "run" / "seed-3")
    assert before(Path("run/seed-3")) == expected("finished", "before")


# --- a user study ----------------------------------------------------------------------------------------------


def test_a_study_reads_as_it_did(copied: Path) -> None:
    assert study_table(copied / "study" / "study") == expected("study", "before")


def test_who_is_half_way_through_a_study_goes_on_and_others_come(copied: Path) -> None:
    folder = copied / "study" / "study"
    cookies = json.loads((HERE / "study" / "cookies.json").read_text("utf-8"))
    app = study_app(folder)
    with TestClient(app, cookies={"shortlist_study": cookies["Cleo"]}) as client:
        cleo = Visitor(client)
        assert cleo.questions() == told("study", "left")
        cleo.answer()
    with TestClient(app) as client:
        dora = Visitor(client)
        dora.start("Dora")
        dora.answer()
    app.state.store.close()
    assert study_table(folder) == expected("study", "after")
