"""From campaign.toml to a campaign for people: every item, paths from the folder, the file stays as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shortlist import Campaign, ShortlistError, Simulated
from shortlist.campaign.engine import Step
from shortlist.campaign.formats.export import export
from shortlist.recipes.build import FILE, open_campaign, settings_in, use_known
from shortlist.recipes.starter import campaign_toml, demo_campaign, new_features, new_images, new_model, new_table
from shortlist.system.files import write_text
from shortlist.types import Ints

HAND_WRITTEN = """# mine
initial = 6
budget = 10
rounds = 2
dataset = "digits"
model = "scikit"
query = { name = "top_k", k = 3 }
acquisition = "random"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """photos, texts.csv, x.npy and classes.txt, beside each other."""
    home = tmp_path / "project"
    rng = np.random.default_rng(0)
    for i in range(40):
        path = home / "photos" / ("deep/er" if i % 2 else "cat") / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 120, (9, 12, 3), np.uint8) + np.uint8(120 * (i % 2))).save(path)
    (home / "photos" / "cat" / "broken.jpg").write_bytes(b"no image")
    words = ("cat purrs", "dog barks")
    (home / "texts.csv").write_text("body,topic\n" + "".join(f"{words[i % 2]} {i},\n" for i in range(40)))
    np.save(home / "x.npy", rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 2)
    (home / "classes.txt").write_text("cat\ndog\n")
    return home


def made(project: Path, kind: str) -> Path:
    """A campaign for people in the project's folder."""
    home, classes = project / kind, project / "classes.txt"
    data = {
        "images": lambda: new_images(home, project / "photos", classes=classes),
        "texts": lambda: new_table(home, project / "texts.csv", text="body", label="topic", classes=classes),
        "features": lambda: new_features(home, project / "x.npy", classes=classes),
    }[kind]()
    write_text(home / FILE, campaign_toml(home, data, new_model(data.dataset)))
    return home


def answered(campaign: Campaign) -> tuple[str | None, int]:
    """To the end, by someone who knows: why it ended, and how many questions that took."""
    truth: Ints = np.arange(len(campaign.settings.dataset.keys)) % 2
    with campaign:
        rounds = list(campaign.run(Simulated(truth)))
        return campaign.ending, sum(r.asked for r in rounds)


@pytest.mark.parametrize("kind", ["images", "texts", "features"])
def test_every_kind_goes_from_the_file_to_the_end_of_the_pool(project: Path, kind: str) -> None:
    home = made(project, kind)
    before = (home / "campaign.toml").read_text()
    settings = settings_in(home)
    assert settings.annotator == {"name": "people"}
    assert len(settings.dataset.keys) == 41 - (kind != "images")
    ending, n_asked = answered(open_campaign(home))
    assert ending == "every item of the pool has been asked"
    assert n_asked in (40, len(settings.dataset.keys))  # the broken image may be among the first, unread till then
    assert (home / "campaign.toml").read_text() == before, "its comments stay"
    assert not list(home.glob("*.new"))


def test_a_folder_works_from_any_place_and_moves_with_its_data(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = made(project, "images")
    with open_campaign(home) as campaign:
        questions = campaign.questions()
    monkeypatch.chdir(home)
    with open_campaign(".") as campaign:
        assert campaign.questions() == questions
    monkeypatch.chdir(tmp_path)
    shutil.move(project, tmp_path / "elsewhere")
    with open_campaign(Path("elsewhere") / "images") as campaign:
        assert campaign.questions() == questions
        assert str(campaign.config["dataset"]["folder"]) == str(tmp_path / "elsewhere" / "photos")


def test_an_image_that_cannot_be_read_is_not_asked_about_until_it_is_mended(project: Path) -> None:
    home = made(project, "images")
    with open_campaign(home) as campaign:
        dataset = campaign.settings.dataset
        assert getattr(dataset, "unreadable", None) == {}
        campaign.prepare()
        assert list(getattr(dataset, "unreadable", {})) == ["cat/broken.jpg"]
        at = campaign.known.keys.index("cat/broken.jpg")
        assert list(campaign.store.unreadable()) == [at]
        assert at not in {question.item for question in campaign.questions()}
        export(home, project / "all.jsonl", what="all")
        rows = [json.loads(line) for line in (project / "all.jsonl").read_text().splitlines()]
        assert [row["key"] for row in rows if row["status"] == "unreadable"] == ["cat/broken.jpg"]
    shutil.copy(project / "photos" / "cat" / "0.png", project / "photos" / "cat" / "broken.jpg")
    with open_campaign(home) as campaign:
        campaign.prepare()
        assert campaign.store.unreadable() == {}


def test_a_hand_written_file_too_is_lenient_with_images_and_for_people(project: Path) -> None:
    home = project / "mine"
    home.mkdir()
    written = HAND_WRITTEN.replace(
        '"digits"', '{ name = "image_folder", folder = "../photos", classes = ["cat", "dog"] }'
    )
    (home / "campaign.toml").write_text(written)
    settings = settings_in(home)
    assert settings.annotator == {"name": "people"}
    assert settings.config["dataset"]["strict"] is False
    assert settings.config["dataset"]["classes"] == ["cat", "dog"]
    assert settings.stop.rounds == 2


def test_known_labels_are_left_where_they_are(project: Path) -> None:
    home, classes = project / "labelled", project / "classes.txt"
    data = new_images(home, project / "photos", classes=classes, folder_labels=True)
    write_text(home / FILE, campaign_toml(home, data, new_model(data.dataset)))
    labels = settings_in(home).dataset.labels
    assert (len(labels), int((labels == 0).sum()), int((labels < 0).sum())) == (41, 21, 20)


def test_new_classes_and_new_images_are_taken_in(project: Path) -> None:
    home = made(project, "images")
    with open_campaign(home) as campaign:
        campaign.questions()
    (project / "classes.txt").write_text("cat\ndog\nfox\n")
    Image.new("RGB", (8, 8)).save(project / "photos" / "new.png")
    with open_campaign(home) as campaign:
        assert campaign.known.classes == ["cat", "dog", "fox"]
        assert campaign.known.keys[-1] == "new.png"


def test_the_end_and_the_overlap_may_change_and_nothing_else(project: Path) -> None:
    home = made(project, "features")
    open_campaign(home).close()
    path = home / "campaign.toml"
    written = path.read_text()
    path.write_text(written.replace("# rounds = 20", "rounds = 3") + "[overlap]\nanswers = 3\n")
    with open_campaign(home) as campaign:
        assert campaign.settings.stop.rounds == 3
        assert campaign.config["overlap"]["answers"] == 3
    path.write_text(written.replace("budget = 10", "budget = 9"))
    with pytest.raises(ShortlistError, match="made with budget = 10, not 9"):
        open_campaign(home)


def test_watch_is_told(project: Path) -> None:
    seen: list[Step] = []
    with open_campaign(made(project, "features"), watch=seen.append) as campaign:
        campaign.run(Simulated(np.arange(40) % 2)).__next__()
    assert "fit" in [step.name for step in seen]


def test_the_demo_is_answered(tmp_path: Path) -> None:
    demo_campaign(tmp_path / "demo")
    with open_campaign(tmp_path / "demo") as campaign:
        labels = campaign.settings.dataset.labels
        running = campaign.run(Simulated(labels))
        first, second = next(running), next(running)
        third = next(running)
    assert (first.asked, second.asked) == (60, 60)
    assert third.accuracy is not None
    assert third.accuracy > 0.4
    assert third.mean_set_size is not None
    assert third.mean_set_size < 18  # lists that show what they are for


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("query = ", "queries = "), r"campaign\.toml: queries: people answer one campaign"),
        (("initial = 6", "initial = 6\nseeds = [1, 2]"), "seeds: people answer one campaign"),
        (
            ("initial = 6", 'initial = 6\nannotator = "simulated"'),
            'its answers are simulated; write annotator = "people"',
        ),
        (("initial = 6", 'initial = 6\nannotator = { name = "people", noise = 0.1 }'), "its answers are simulated"),
        (
            ("initial = 6", 'initial = 6\nannotator = "robots"'),
            r"annotator\.name: Input should be 'simulated' or 'people'",
        ),
        (
            ("initial = 6", "initial = 6\noverlap = { people = 2 }"),
            r"overlap\.people: no such setting; there are answers",
        ),
        (("initial = 6", "initail = 6"), "initail: no such field"),
    ],
)
def test_refused_files(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(HAND_WRITTEN.replace(*change).replace("queries = {", "queries.a = {"))
    with pytest.raises(ShortlistError, match=sentence):
        settings_in(tmp_path)


def test_a_folder_without_a_campaign(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"there is no campaign\.toml in it; make one with: shortlist init"):
        settings_in(tmp_path / "nowhere")


# --- files that come and go ------------------------------------------------------------------------------------


def test_a_worker_leaves_new_images_to_the_server(project: Path) -> None:
    """Otherwise the server would be asked to show items that it does not know."""
    home = made(project, "images")
    with open_campaign(home) as server:
        n = len(server.known.keys)
        shutil.copy(project / "photos" / "cat" / "0.png", project / "photos" / "new.png")
        with open_campaign(home, growing=False) as worker:
            assert len(worker.known.keys) == n == worker.store.n_items()
            assert worker.known.keys == server.known.keys
            list(worker.questions())
        (project / "classes.txt").write_text("cat\ndog\nfox\n")
        with pytest.raises(ShortlistError, match="new classes; start the server again"):
            open_campaign(home, growing=False)
    with open_campaign(home) as server:
        assert len(server.known.keys) == n + 1
        assert len(server.known.classes) == 3


def test_an_image_that_is_gone_is_set_aside_and_comes_back(project: Path) -> None:
    home = made(project, "images")
    with open_campaign(home) as campaign:
        campaign.questions()
    kept = (project / "photos" / "cat" / "0.png").rename(project / "kept.png")
    with open_campaign(home) as campaign:
        campaign.prepare()
        at = campaign.known.keys.index("cat/0.png")
        assert "No such file" in campaign.store.unreadable()[at]
    kept.rename(project / "photos" / "cat" / "0.png")
    with open_campaign(home) as campaign:
        campaign.prepare()
        assert at not in campaign.store.unreadable()
    for path in (project / "photos").rglob("*.png"):
        path.unlink()
    with pytest.raises(ShortlistError, match="of the 41 images that were here before are gone"):
        open_campaign(home)


def test_known_labels_are_used_at_once_where_that_is_wanted(project: Path) -> None:
    rows = (project / "texts.csv").read_text().splitlines()
    known = [f"{row}{'cat' if 'cat' in row else 'dog'}" if i % 2 == 0 and i else row for i, row in enumerate(rows)]
    (project / "texts.csv").write_text("\n".join(known) + "\n")
    home = made(project, "texts")
    assert 'known = "use"' in (home / "campaign.toml").read_text()
    with open_campaign(home) as campaign:
        campaign.questions()
        assert use_known(campaign) == 20
        assert use_known(campaign) == 0
        asked = {q.item for q in campaign.questions()}
        assert all(campaign.settings.dataset.labels[item] < 0 for item in asked)
        assert {a.person for a in campaign.store.answers()} == {"dataset"}
        assert sum(cost for _, _, cost in campaign.store.costs()) == 0
    (home / "campaign.toml").write_text((home / "campaign.toml").read_text().replace('known = "use"', 'known = "ask"'))
    with open_campaign(home) as campaign:
        assert use_known(campaign) == 0
