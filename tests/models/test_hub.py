"""Encoders are tiny and drawn at random, saved to a folder as transformers does: nothing is ever fetched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shortlist import Arrays, Badge, Campaign, CandidateSet, Entropy, Hub, Saal, Simulated
from shortlist.recipes.parts import build
from shortlist.types import Labelled, Model, Rng, ShortlistError
from tests.models.toys import Toy, accuracy, all_probs, log_loss

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from shortlist.models.encoders.pretrained import Pixels, Pretrained, Tokens, load, pooled  # noqa: E402 - it needs both
from shortlist.models.torch_runtime import seeded  # noqa: E402
from tests.models.networks import SMALL, tiny_vit  # noqa: E402

WORDS = {"cat": 0, "dog": 0, "milk": 0, "oil": 1, "steel": 1, "wheat": 1, "moon": 2, "star": 2, "sun": 2}
FILLERS = ["the", "a", "of", "and", "in"]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vit(tmp_path_factory.mktemp("vit"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    folder = tmp_path_factory.mktemp("bert")
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *FILLERS])}
    inside = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    inside.pre_tokenizer = Whitespace()
    inside.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inside, model_max_length=12, **named)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(vocabulary), "max_position_embeddings": 16}
    transformers.BertModel(transformers.BertConfig(**SMALL, **sizes)).save_pretrained(folder)
    return folder


def rng(seed: int = 0) -> Rng:
    return np.random.default_rng(seed)


def pictures(n: int = 90, n_test: int = 60, side: int = 8, grey: bool = False) -> Arrays:
    """Mostly red, green or blue; in grey, bright or dark here and there."""
    labels = np.arange(n + n_test) % 3
    images = rng().integers(0, 60, (n + n_test, side, side, 3), dtype=np.uint8)
    images[np.arange(n + n_test), :, :, labels] += 180
    images = images[..., 0] if grey else images
    return Arrays(images[:n], labels[:n], test_inputs=images[n:], test_labels=labels[n:], name="pictures")


def sentences(n: int = 120, n_test: int = 60) -> Arrays:
    """A few words, one of which says the class."""
    draw = rng()
    words = list(WORDS)
    chosen = draw.integers(len(words), size=n + n_test)
    texts = [
        " ".join(draw.permutation([words[i], *draw.choice(FILLERS, draw.integers(1, 9))]).tolist()) for i in chosen
    ]
    labels = np.array([WORDS[words[i]] for i in chosen])
    return Arrays(texts[:n], labels[:n], test_inputs=texts[n:], test_labels=labels[n:], name="sentences")


def everything(data: Any, n_classes: int = 3) -> Labelled:
    return Labelled(np.arange(len(data.labels)), data.labels, n_classes)


def fitted(model: Hub, data: Any, labelled: Labelled | None = None, seed: int = 0) -> Hub:
    model.prepare(data)
    model.fit(labelled or everything(data), rng=rng(seed))
    return model


def loaded(folder: Path, kind: Any = "images", **settings: Any) -> Pretrained:
    return load(str(folder), kind, **settings)


def hub(folder: Path, **settings: Any) -> Hub:
    return Hub(str(folder), **{"device": "cpu", **settings})


def unwanted(*_: Any, **__: Any) -> Any:
    raise AssertionError("this was to be spared")


def tuned(folder: Path, **settings: Any) -> Hub:
    return hub(folder, **{"tune": "all", "lr": 1e-3, "epochs": 1, "min_steps": 60, "train_batch": 16, **settings})


# --- features --------------------------------------------------------------------------------------------------


@torch.no_grad()  # type: ignore[untyped-decorator]
def plain_vit(folder: Path, images: Any, pooling: str = "cls", **options: Any) -> Any:
    module = transformers.ViTModel.from_pretrained(folder, add_pooling_layer=False).eval()
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(v)[:, None, None] for v in ([0.4, 0.5, 0.6], [0.2, 0.25, 0.3]))
    hidden = module(pixel_values=(pixels - mean) / std, **options).last_hidden_state
    return (hidden[:, 0] if pooling == "cls" else hidden.mean(dim=1)).numpy()


@pytest.mark.parametrize("pooling", ["auto", "cls", "mean"])
def test_features_of_images_are_a_plain_forward(vit: Path, pooling: Any) -> None:
    data = pictures()
    features = hub(vit, pooling=pooling, batch=7).features(data)
    assert features.dtype == np.float32
    expected = plain_vit(vit, data.inputs, "mean" if pooling == "mean" else "cls")
    np.testing.assert_allclose(features, expected, atol=1e-5)


@torch.no_grad()  # type: ignore[untyped-decorator]
def plain_bert(folder: Path, texts: Any, pooling: str = "mean", length: int = 12) -> Any:
    module = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in texts:
        said = module(**tokenizer(text, truncation=True, max_length=length, return_tensors="pt"))
        hidden = said.last_hidden_state[0]
        rows.append({"mean": hidden.mean(dim=0), "cls": hidden[0], "pooler": said.pooler_output[0]}[pooling])
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("pooling", ["auto", "mean", "cls", "pooler"])
def test_features_of_texts_are_a_plain_forward_of_each_alone(bert: Path, pooling: Any) -> None:
    """So neither padding, nor the order of reading, nor other texts of a batch make a difference."""
    data = sentences()
    features = hub(bert, pooling=pooling, batch=7).features(data)
    expected = plain_bert(bert, data.inputs, "mean" if pooling == "auto" else pooling)
    np.testing.assert_allclose(features, expected, atol=1e-5)


def test_a_text_is_cut_to_the_length_that_the_tokenizer_says_or_to_a_given_one(bert: Path) -> None:
    long = Toy("texts", ["the cat and " * 20, "moon"], np.array([0, 1]), keys=("a", "b"))
    for size in (None, 6):
        expected = plain_bert(bert, long.inputs, length=size or 12)
        np.testing.assert_allclose(hub(bert, size=size).features(long), expected, atol=1e-5)


def test_a_tokenizer_that_says_no_length_gets_the_encoders(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "silent"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("model_max_length")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    long = Toy("texts", ["the cat and " * 20], np.array([0]), keys=("a",))
    np.testing.assert_allclose(hub(folder).features(long), plain_bert(folder, long.inputs, length=14), atol=1e-5)


def test_a_sentence_encoder_is_pooled_as_it_says(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "sentence"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert (loaded(folder, "texts").pooling, loaded(bert, "texts").pooling) == ("cls", "mean")


def test_images_of_another_size_are_resized_and_grey_ones_coloured(vit: Path) -> None:
    large, grey = pictures(side=20), pictures(grey=True)
    pixels = torch.from_numpy(large.inputs).permute(0, 3, 1, 2).float()
    small = torch.nn.functional.interpolate(pixels, (8, 8), mode="bilinear", antialias=True)
    expected = plain_vit(vit, small.permute(0, 2, 3, 1).numpy())
    np.testing.assert_allclose(hub(vit).features(large), expected, atol=1e-5)
    coloured = np.repeat(grey.inputs[..., None], 3, axis=3)
    np.testing.assert_allclose(hub(vit).features(grey), plain_vit(vit, coloured), atol=1e-5)


def test_a_vit_stretches_its_positions_to_the_size_asked_for(vit: Path) -> None:
    data = pictures(side=16)
    expected = plain_vit(vit, data.inputs, interpolate_pos_encoding=True)
    np.testing.assert_allclose(hub(vit, size=16).features(data), expected, atol=1e-5)


SIDES: list[tuple[dict[str, Any], int]] = [
    ({"size": 12}, 12),
    ({"size": [12, 12]}, 12),
    ({"size": {"shortest_edge": 12}}, 12),
    ({"size": {"shortest_edge": 14}, "do_center_crop": True, "crop_size": {"height": 12, "width": 12}}, 12),
    ({"size": {"height": 12, "width": 12}, "do_center_crop": False, "crop_size": 9}, 12),
    ({}, 8),
]


@pytest.mark.parametrize(("settings", "side"), SIDES)
def test_the_size_is_that_of_the_processor_or_else_of_the_encoder(
    vit: Path, tmp_path: Path, settings: dict[str, Any], side: int
) -> None:
    folder = Path(shutil.copytree(vit, tmp_path / "other"))
    (folder / "preprocessor_config.json").write_text(json.dumps({**settings, "do_normalize": False}))
    rows = loaded(folder).read(np.full((1, 8, 8, 3), 51, np.uint8))
    assert isinstance(rows, Pixels)
    assert (rows.size, rows.mean, rows.std) == (side, (0.0,) * 3, (1.0,) * 3)
    np.testing.assert_allclose(rows.batch(np.array([0]), torch.device("cpu"))["pixel_values"], 0.2, rtol=1e-5)


def convolutions() -> Any:
    tiny = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
    return transformers.ResNetModel(tiny)


def swin() -> Any:
    return transformers.SwinModel(
        transformers.SwinConfig(image_size=8, patch_size=2, embed_dim=6, depths=[1, 1], num_heads=[1, 2], window_size=2)
    )


@pytest.mark.parametrize("make", [convolutions, swin])
def test_encoders_without_a_class_token_give_what_their_pooler_does(tmp_path: Path, make: Any) -> None:
    torch.manual_seed(0)
    make().save_pretrained(tmp_path)
    encoder, mean = (load(str(tmp_path), "images", pooling, 8) for pooling in ("auto", "mean"))
    batch = encoder.read(pictures().inputs).batch(np.arange(5), torch.device("cpu"))
    with torch.no_grad():
        expected = encoder.module(**batch).pooler_output.flatten(1)
        torch.testing.assert_close(encoder.embed(encoder.module, batch), expected)
        torch.testing.assert_close(mean.embed(mean.module, batch), expected)
    assert expected.shape == (5, 12)


def test_an_encoder_with_a_tower_for_images_and_one_for_texts(tmp_path: Path) -> None:
    torch.manual_seed(0)
    words = {**SMALL, "vocab_size": 50, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    both = transformers.CLIPConfig(text_config=words, vision_config={**SMALL, "image_size": 8, "patch_size": 4})
    clip = transformers.CLIPModel(both).eval()
    clip.save_pretrained(tmp_path)
    encoder = loaded(tmp_path)
    batch = encoder.read(pictures().inputs).batch(np.arange(5), torch.device("cpu"))
    with torch.no_grad():
        torch.testing.assert_close(encoder.embed(encoder.module, batch), clip.vision_model(**batch).pooler_output)


# --- the cache -------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many splits were encoded."""
    asked: list[int] = []
    encode = Pretrained.encode

    def counting(self: Pretrained, inputs: Any, *arguments: Any) -> Any:
        asked.append(len(inputs))
        return encode(self, inputs, *arguments)

    monkeypatch.setattr(Pretrained, "encode", counting)
    return asked


def test_features_are_encoded_once_for_a_dataset(vit: Path, counted: list[int], tmp_path: Path) -> None:
    data = pictures()
    first = hub(vit).features(data)
    assert counted == [90, 60]
    again = hub(shutil.copytree(vit, tmp_path / "moved")).features(data)  # the weights count, not where they are
    assert counted == [90, 60]
    np.testing.assert_array_equal(first, again)
    assert len(list((tmp_path / "cache").iterdir())) == 1
    fitted(hub(vit), data)
    assert counted == [90, 60]


def test_another_dataset_encoder_or_setting_is_encoded_anew(vit: Path, counted: list[int], tmp_path: Path) -> None:
    data = pictures()
    hub(vit).features(data)
    other = Path(shutil.copytree(vit, tmp_path / "other"))
    module = transformers.ViTModel.from_pretrained(other, add_pooling_layer=False)
    next(iter(module.parameters())).data += 0.1
    module.save_pretrained(other)
    changed = Arrays(data.inputs[::-1].copy(), data.labels, name="pictures")
    before = len(counted)
    for model, given in [
        (hub(vit, pooling="mean"), data),
        (hub(vit, size=12), data),
        (hub(other), data),
        (hub(vit), changed),
    ]:
        model.features(given)
        assert len(counted) > before
        before = len(counted)
    hub(vit).features(data)
    assert len(counted) == before


def test_a_broken_cache_is_encoded_anew(vit: Path, counted: list[int], tmp_path: Path) -> None:
    data = pictures()
    first = hub(vit, cache=tmp_path / "own").features(data)
    (path,) = (tmp_path / "own").iterdir()
    path.write_bytes(path.read_bytes()[:3000])
    np.testing.assert_array_equal(hub(vit, cache=tmp_path / "own").features(data), first)
    assert counted == [90, 60, 90, 60]


@pytest.mark.parametrize("tune", ["probe", "all"])
def test_a_dataset_prepared_again_is_not_read_again(
    vit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Any
) -> None:
    """As the campaigns of a sweep do, which share a model and a dataset."""
    data = pictures()
    model = fitted(tuned(vit, tune=tune, min_steps=3), data)
    first = all_probs(model.predict_test())
    same = Arrays(data.inputs, data.labels, test_inputs=data.test_inputs, test_labels=data.test_labels)
    assert same.inputs is data.inputs
    with monkeypatch.context() as patched:
        patched.setattr("shortlist.models.encoders.encoder.dataset_digest", unwanted)
        patched.setattr("shortlist.models.encoders.encoder.cached", unwanted)
        patched.setattr("shortlist.models.encoders.pretrained.Pixels", unwanted)
        patched.setattr(Pretrained, "width", unwanted)
        model.prepare(same)
        with pytest.raises(ShortlistError, match="learnt nothing yet"):  # nothing passes from campaign to campaign
            model.save(tmp_path)
        model.fit(everything(data), rng=rng())
    np.testing.assert_array_equal(all_probs(model.predict_test()), first)


@pytest.mark.parametrize("tune", ["probe", "all"])
@pytest.mark.parametrize("changed", ["train", "test", "none"])
def test_another_dataset_is_read(vit: Path, tune: Any, changed: str) -> None:
    data = pictures()
    train = data.inputs[::-1].copy() if changed == "train" else data.inputs
    test: Any = data.test_inputs
    test = {"test": test[::-1].copy(), "none": None}.get(changed, test)
    other = Arrays(train, data.labels, test_inputs=test, test_labels=None if test is None else data.test_labels)
    model, fresh = tuned(vit, tune=tune, min_steps=3), tuned(vit, tune=tune, min_steps=3)
    fitted(model, data)
    for one in (model, fresh):
        fitted(one, other)
    np.testing.assert_array_equal(all_probs(model.predict(np.arange(9))), all_probs(fresh.predict(np.arange(9))))
    if changed == "none":
        with pytest.raises(ShortlistError, match="no test split"):
            model.predict_test()
    else:
        np.testing.assert_array_equal(all_probs(model.predict_test()), all_probs(fresh.predict_test()))


# --- a probe on the features -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_a_probe_learns(vit: Path, bert: Path, kind: str) -> None:
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    model: Model = fitted(hub(folder, C=10.0), data)
    assert accuracy(all_probs(model.predict_test()), data.test_labels) > 0.9
    (batch,) = model.predict(np.array([5, 2]))
    np.testing.assert_array_equal(batch.embeddings, hub(folder).features(data)[[5, 2]])
    assert model.perturbed_loss(np.arange(4)).shape == (4,)


def test_a_probe_is_kept(vit: Path, tmp_path: Path) -> None:
    data = pictures()
    model = fitted(hub(vit), data)
    model.save(tmp_path / "kept")
    other = hub(vit)
    other.prepare(data)
    assert other.load(tmp_path / "kept", everything(data))
    np.testing.assert_array_equal(all_probs(other.predict_test()), all_probs(model.predict_test()))
    pooled_otherwise = hub(vit, pooling="mean")
    pooled_otherwise.prepare(data)
    assert not pooled_otherwise.load(tmp_path / "kept", everything(data))


# --- fine-tuning -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_fine_tuning_learns_more_the_longer_it_takes(vit: Path, bert: Path, kind: str) -> None:
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    few, many = (fitted(tuned(folder, min_steps=steps, lr=3e-3, C=1e-3), data) for steps in (8, 150))
    before, after = (log_loss(all_probs(model.predict(np.arange(90))), data.labels[:90]) for model in (few, many))
    assert after < 0.5 * before
    assert accuracy(all_probs(many.predict_test()), data.test_labels) > 0.9


def test_the_head_begins_where_a_probe_ends(vit: Path) -> None:
    data = pictures()
    hardly = fitted(tuned(vit, lr=1e-9, C=10.0), data)
    probs = all_probs(hardly.predict_test())
    assert accuracy(probs, data.test_labels) > 0.9
    assert log_loss(probs, data.test_labels) < 0.5
    (batch,) = hardly.predict(np.arange(90))
    assert batch.embeddings is not None
    np.testing.assert_allclose(batch.embeddings, hub(vit).features(data), atol=1e-5)


def test_every_fit_starts_from_the_pretrained_weights(bert: Path) -> None:
    """And its dropout from the round's generator, whatever torch's own has been used for."""
    data = sentences()
    model = fitted(tuned(bert), data)
    first = all_probs(model.predict_test())
    model.fit(Labelled(np.arange(30), data.labels[:30], 3), rng=rng(5))
    other = all_probs(model.predict_test())
    torch.manual_seed(1234)
    state = torch.get_rng_state()
    model.fit(everything(data), rng=rng())
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(all_probs(model.predict_test()), first)
    assert not np.allclose(first, other)


def test_nothing_it_does_draws_from_torchs_own_generator(bert: Path, vit: Path, tmp_path: Path) -> None:
    for folder, data in ((bert, sentences()), (vit, pictures())):  # the second has a pooler that transformers draws
        torch.manual_seed(1234)
        state = torch.get_rng_state()
        fitted(tuned(folder, min_steps=3), data).save(tmp_path / folder.name)
        other = tuned(folder, min_steps=3)
        other.prepare(data)
        assert other.load(tmp_path / folder.name, everything(data))
        assert torch.equal(torch.get_rng_state(), state)


def test_dropout_follows_the_rounds_generator(bert: Path) -> None:
    """Where all items are in every batch, nothing else is drawn that makes a difference."""
    data = sentences()
    settings = {"train_batch": len(data.labels), "min_steps": 3}
    first, again, other = (all_probs(fitted(tuned(bert, **settings), data, seed=s).predict_test()) for s in (0, 0, 1))
    np.testing.assert_array_equal(again, first)
    assert np.abs(other - first).max() > 1e-4


def test_a_seed_reaches_no_other_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "manual_seed_all", unwanted)
    state = torch.get_rng_state()
    drawn = []
    for seed in (5, 5, 6):
        with seeded(seed, torch.device("cpu")):
            drawn.append(torch.rand(1).item())
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(RuntimeError), seeded(5, torch.device("cpu")):
        raise RuntimeError(torch.rand(1))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_seed_reaches_its_gpu(name: str) -> None:
    state = torch.cuda.get_rng_state()
    drawn = []
    for seed in (5, 5, 6):
        with seeded(seed, torch.device(name)):
            drawn.append(torch.rand(1, device=name).item())
    assert drawn[0] == drawn[1] != drawn[2]
    assert torch.equal(torch.cuda.get_rng_state(), state)


def test_a_stream_stays_with_the_fit_it_came_from(vit: Path) -> None:
    data = pictures()
    model = fitted(tuned(vit), data)
    stream = model.predict_test()
    before = all_probs(stream)
    model.fit(Labelled(np.arange(30), data.labels[:30], 3), rng=rng())
    np.testing.assert_array_equal(all_probs(stream), before)


def test_tuned_predictions_follow_the_items_asked_for(bert: Path) -> None:
    data = sentences()
    model = fitted(tuned(bert, batch=2), data)  # streams of 32 items, read two at a time
    items = rng(3).permutation(120)
    stream = model.predict(items)
    assert [len(batch.probs) for batch in stream] == [32, 32, 32, 24]
    probs = all_probs(stream)
    alone = np.concatenate([all_probs(model.predict(np.array([item]))) for item in items])
    np.testing.assert_allclose(probs, alone, atol=1e-5)
    embeddings = np.concatenate([batch.embeddings for batch in stream])
    assert embeddings.shape == (120, 16)


def test_classes_without_labels_get_nothing_and_rejected_ones_less(vit: Path) -> None:
    data = pictures()
    items = np.flatnonzero(data.labels != 2)[:20]
    partial = np.flatnonzero(data.labels == 2)  # of a third colour, and not of the first class
    rejected = np.tile([True, False, False, False, True], (len(partial), 1))
    with_them, without = (
        all_probs(fitted(tuned(vit), data, labelled).predict(partial))
        for labelled in (
            Labelled(items, data.labels[items], 5, partial, rejected),
            Labelled(items, data.labels[items], 5),
        )
    )
    for probs in (with_them, without):
        assert not probs[:, 2:].any()
        np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)
    assert with_them[:, 0].mean() < 0.7 * without[:, 0].mean()


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_tuned_weights_are_kept(vit: Path, bert: Path, kind: str, tmp_path: Path) -> None:
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    model = fitted(tuned(folder), data)
    model.save(tmp_path / "001")
    other = tuned(folder)
    other.prepare(data)
    assert other.load(tmp_path / "001", everything(data))
    np.testing.assert_array_equal(all_probs(other.predict_test()), all_probs(model.predict_test()))
    assert not other.load(tmp_path / "001", Labelled(np.arange(30), data.labels[:30], 3))
    slower = tuned(folder, lr=1e-4)
    slower.prepare(data)
    assert not slower.load(tmp_path / "001", everything(data))


def test_only_the_last_rounds_weights_are_kept(vit: Path, tmp_path: Path) -> None:
    model = fitted(tuned(vit, min_steps=1), pictures())
    for name in ("001", "mine", "002", "010"):
        model.save(tmp_path / name)
    assert sorted(p.parent.name for p in tmp_path.glob("*/fine_tuning.npz")) == ["010", "mine"]


@pytest.mark.parametrize("kind", ["images", "texts"])
def test_the_perturbed_loss_of_a_tuned_encoder(vit: Path, bert: Path, kind: str) -> None:
    """Of every item alone: a step up its loss makes it larger, and least so where the model is sure."""
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    model = fitted(tuned(folder, min_steps=20), data)
    items = np.arange(12)
    probs = all_probs(model.predict(items))
    losses = model.perturbed_loss(items).numpy()
    assert losses.shape == (12,)
    assert (losses > -np.log(probs.max(axis=1))).all()
    np.testing.assert_allclose(model.perturbed_loss(items[3:5]).numpy(), losses[3:5], rtol=1e-4)
    assert model.perturbed_loss(items[:0]).shape == (0,)


def test_a_rate_that_is_too_high_is_told(vit: Path) -> None:
    with pytest.raises(ShortlistError, match=r"hub.lr: 1e\+30 is too high"):
        fitted(tuned(vit, lr=1e30, min_steps=3), pictures())


# --- campaigns -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["images", "texts"])
@pytest.mark.parametrize("acquisition", [Badge(), Saal()], ids=["badge", "saal"])
def test_a_campaign_with_a_probe(vit: Path, bert: Path, tmp_path: Path, kind: str, acquisition: Any) -> None:
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    with Campaign(tmp_path / "c", dataset=data, model=hub(folder, C=10.0), query=CandidateSet(n_cal=8),
                  acquisition=acquisition, initial=15, budget=15, rounds=3) as campaign:  # fmt: skip
        rounds = list(campaign.run(Simulated(data.labels)))
    assert [r.number for r in rounds] == [1, 2, 3]
    assert (rounds[-1].accuracy or 0) > 0.6


@pytest.mark.parametrize("tune", ["probe", "all"])
def test_a_campaign_goes_on_where_it_stopped(vit: Path, tmp_path: Path, tune: Any) -> None:
    data = pictures()

    def rounds(name: str, n: int) -> list[Any]:
        model = tuned(vit, tune=tune, min_steps=10)
        with Campaign(tmp_path / name, dataset=data, model=model, query=CandidateSet(n_cal=5), acquisition=Entropy(),
                      initial=10, budget=10, rounds=4) as campaign:  # fmt: skip
            going = campaign.run(Simulated(data.labels))
            return [next(going) for _ in range(n)]

    whole = rounds("whole", 4)
    rounds("parts", 2)
    again = rounds("parts", 4)
    for one, other in zip(whole, again, strict=True):
        assert (one.accuracy, one.cost, one.alpha) == (other.accuracy, other.cost, other.alpha)


# --- settings and errors ---------------------------------------------------------------------------------------


def test_a_recipe_can_say_all_of_it(vit: Path) -> None:
    table = {"name": "hub", "encoder": str(vit), "tune": "all", "lr": 1e-4, "size": 32, "cache": "kept"}
    model = build("models", table, "model")
    assert isinstance(model, Hub)
    assert model.spec() == {
        **{"name": "hub", "encoder": str(vit), "tune": "all", "pooling": "auto", "size": 32, "C": 0.3},
        **{"epochs": 10, "min_steps": 300, "lr": 1e-4, "train_batch": 32},
    }
    with pytest.raises(ShortlistError, match=r"model.tune: 'some' does not fit: input should be 'probe' or 'all'"):
        build("models", {**table, "tune": "some"}, "model")


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ShortlistError, match=r"hub.tune: must be probe or all, not 'head'"):
        Hub("x", tune="head")  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match=r"hub.pooling: must be auto or cls or mean or pooler, not 'max'"):
        Hub("x", pooling="max")  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match=r"hub.size: must be at least 1, not 0"):
        Hub("x", size=0)


def test_nothing_is_loaded_until_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(Hub("some/encoder")) == "Hub('some/encoder', tune='probe')"
    with pytest.raises(ShortlistError, match="no data yet; call prepare"):
        Hub("some/encoder").fit(everything(pictures()), rng=rng())
    monkeypatch.setattr("shortlist.system.extras.find_spec", lambda name: None if name == "transformers" else 1)
    with pytest.raises(
        ShortlistError, match=r"transformers is not installed; run: pip install 'shortlist-al\[torch\]'"
    ):
        Hub("some/encoder")


@pytest.mark.parametrize("name", ["nobody/has-this", "/no/such/folder"])
def test_what_is_not_there_and_cannot_be_fetched(name: str) -> None:
    with pytest.raises(
        ShortlistError, match=rf"encoder: '{name}' cannot be loaded: .*; give a folder with a saved model"
    ):
        Hub(name).prepare(pictures())


@pytest.mark.parametrize("name", ["nobody/has-this", "/no/such/folder"])
def test_a_check_tells_what_is_not_there(name: str) -> None:
    with pytest.raises(
        ShortlistError, match=rf"encoder: '{name}' cannot be loaded: .*; give a folder with a saved model"
    ):
        Hub(name).check()
    with pytest.raises(
        ShortlistError, match="package no-such is not installed, and not one of those known here: package:wordllama and"
    ):
        Hub("package:no-such").check()


def test_a_check_reads_no_weights(
    vit: Path, bert: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transformers.AutoModel, "from_pretrained", unwanted)
    for folder in (vit, bert):
        hub(folder).check()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("harm", ["weights", "cut", "config", "kind"])
def test_a_folder_that_holds_no_whole_encoder(vit: Path, tmp_path: Path, harm: str) -> None:
    folder = Path(shutil.copytree(vit, tmp_path / "harmed"))
    if harm == "weights":
        (folder / "model.safetensors").unlink()
    if harm == "cut":
        raw = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(raw[: len(raw) // 2])
    if harm == "config":
        (folder / "config.json").write_text("{")
    if harm == "kind":
        (folder / "config.json").write_text("{}")
    with pytest.raises(ShortlistError, match="cannot be loaded: "):
        hub(folder).prepare(pictures())


def test_weights_of_another_model_are_refused(vit: Path, tmp_path: Path) -> None:
    """transformers would go on with random ones."""
    folder = Path(shutil.copytree(vit, tmp_path / "deeper"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ShortlistError, match=r"holds no weights for .* and 15 more; is it another model"):
        hub(folder).prepare(pictures())


def test_a_dataset_of_another_kind_is_refused(vit: Path, bert: Path) -> None:
    with pytest.raises(ShortlistError, match="takes pixel_values, and the dataset holds texts"):
        hub(vit).prepare(sentences())
    with pytest.raises(ShortlistError, match="takes input_ids, and the dataset holds images"):
        hub(bert).prepare(pictures())
    with pytest.raises(ShortlistError, match="is for images or texts; for features use LinearProbe"):
        hub(vit).prepare(Arrays(np.eye(3), [0, 1, 1]))


def test_a_pooler_that_was_never_trained_is_refused(vit: Path) -> None:
    with pytest.raises(ShortlistError, match=r"the pooler of .* was never trained; use pooling = cls or mean"):
        hub(vit, pooling="pooler").features(pictures())


def test_an_encoder_without_a_pooler() -> None:
    said = SimpleNamespace(last_hidden_state=torch.ones(2, 3, 4), pooler_output=None)
    with pytest.raises(ShortlistError, match="this encoder has no pooler of its own; use cls or mean"):
        pooled(said, "pooler")


def test_without_a_test_split(vit: Path) -> None:
    data = pictures()
    alone = Arrays(data.inputs, data.labels)
    for model in (hub(vit), tuned(vit, min_steps=1)):
        fitted(model, alone)
        with pytest.raises(ShortlistError, match="no test split"):
            model.predict_test()
        model.prepare(alone)
        with pytest.raises(ShortlistError, match="learnt nothing yet"):
            model.predict(np.arange(3))


def test_an_encoder_that_came_in_a_package(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_encoder"
    shutil.copytree(bert, package / "model")
    (package / "model" / "1_Pooling").mkdir()
    (package / "model" / "1_Pooling" / "config.json").write_text("{}")
    (package / "__init__.py").write_text("raise RuntimeError('never imported')")
    (tmp_path / "empty_one").mkdir()
    (tmp_path / "empty_one" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    data = sentences()
    features = Hub("package:some-encoder", device="cpu").features(data)
    np.testing.assert_allclose(features, plain_bert(bert, data.inputs), atol=1e-5)
    with pytest.raises(
        ShortlistError, match="package no-such is not installed, and not one of those known here: package:wordllama and"
    ):
        Hub("package:no-such").features(data)
    with pytest.raises(ShortlistError, match="package empty-one holds no model that transformers can load"):
        Hub("package:empty-one").features(data)


def test_tokens_keep_their_order() -> None:
    rows = Tokens([[1, 2, 3], [4], [5, 6]], padding=9)
    assert len(rows) == 3
    assert rows.order(np.array([2, 0, 1])).tolist() == [2, 0, 1]
    assert rows.batch(np.array([2, 0]), torch.device("cpu"))["input_ids"].tolist() == [[5, 6, 9], [1, 2, 3]]


def test_a_text_without_a_word_is_still_an_item() -> None:
    def tokenizer(texts: list[str], **_: Any) -> dict[str, Any]:
        return {"input_ids": [[5] * len(text) for text in texts]}

    tokenizer.pad_token_id = None  # type: ignore[attr-defined]
    assert Tokens.of(["", "ab"], tokenizer, 9).tokens == [[0], [5, 5]]


def test_loading_says_nothing(vit: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loaded(vit)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", ["images", "texts"])
@pytest.mark.parametrize("tune", ["probe", "all"])
def test_a_gpu_learns_the_same(vit: Path, bert: Path, kind: str, tune: Any) -> None:
    data, folder = (pictures(), vit) if kind == "images" else (sentences(), bert)
    model = fitted(tuned(folder, tune=tune, C=10.0, device="cuda", min_steps=150), data)
    (batch,) = model.predict(np.arange(90))
    assert batch.matrix.device.type == "cuda"
    assert float((batch.probs.argmax(dim=1).cpu().numpy() == data.labels[:90]).mean()) > 0.9
    np.testing.assert_allclose(hub(folder, device="cuda").features(data), hub(folder).features(data), atol=0.1)
