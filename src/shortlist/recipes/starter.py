"""A new campaign for people to answer: its data read and checked, and its campaign.toml.

The file has sensible numbers for this many items and classes, and a word about each.
"""

from __future__ import annotations

import math
import os
import textwrap
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np

from shortlist.campaign.config import to_toml
from shortlist.datasets.arrays import Arrays
from shortlist.datasets.builtin.digits import Digits
from shortlist.datasets.builtin.glyphs import Glyphs
from shortlist.datasets.feature_file import FeatureFile
from shortlist.datasets.image_folder import ImageFolder, class_folders, header_problem, image_keys, refuse_no_folder
from shortlist.datasets.table import Table
from shortlist.models.encoders.packages import PREFIX, best_installed, of_kind, refuse_kind
from shortlist.recipes.build import FILE
from shortlist.recipes.encoder_advice import next_better
from shortlist.recipes.parts import build
from shortlist.recipes.recipe import Recipe, parse_recipe
from shortlist.system.files import write_text
from shortlist.system.terminal import plain
from shortlist.types import ShortlistError

Demo: TypeAlias = Literal["digits", "glyphs"]

WEIGHTS = 5_000_000  # classes × words that logistic regression still learns in seconds
SAMPLE = 5000  # texts, to estimate how many words there are
LEAST = 5  # items
LOOKED_AT = 2000  # files whose first bytes are read
SMALL, LARGE = 32, 224  # pixels: what a model of pixels can learn from, and what encoders want
SIDES = (LARGE, 160, 112, 80, 56)
MUCH = 4 * 10**9  # bytes
UNSEEN = {"Cc", "Cf"}  # categories of signs: those that control and those that format
SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}  # how the sign before them is drawn


# --- a setting and its comment -----------------------------------------------------------------------------------

WIDTH = 110


@dataclass(frozen=True)
class Setting:
    """A setting, its value and a comment on it; an `example` is commented out."""

    key: str
    value: Any
    why: str
    example: bool = False

    def lines(self) -> str:
        written = to_toml({self.key: self.value})
        return comment(self.why) + (f"# {written}" if self.example else written)


def comment(text: str) -> str:
    lines = textwrap.wrap(plain(text), WIDTH, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)  # TOML takes no control character


# --- data --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NewDataset:
    """A dataset, its settings in campaign.toml, and warnings for its owner."""

    dataset: Arrays
    settings: Sequence[Setting]
    summary: str  # in a few words
    warnings: Sequence[str] = field(default_factory=tuple)


def new_images(
    home: Path,
    folder: Path,
    *,
    classes: Path | None = None,
    keys: Path | None = None,
    folder_labels: bool = False,
    size: int | None = SMALL,
) -> NewDataset:
    """A folder of images, at any depth where the classes are given; else one sub folder for each class.

    Without `size` they are as large as encoders want, or as memory has room for.
    """
    refuse_inside(home, folder)
    if classes is None and not keys:
        refuse_no_class_folders(folder)
    there: dict[str, Any] = {"classes": classes, "keys": keys, "folder_labels": folder_labels, "strict": False}
    dataset = ImageFolder(folder, size=size or SMALL, **there)
    if size is None:
        size = next((side for side in SIDES if len(dataset) * side * side * 3 <= MUCH), SMALL)
        dataset = ImageFolder(folder, size=size, **there)
    refuse_few(dataset, folder, "images")
    held = len(dataset) * size * size * 3
    warnings = [*deeper_images(folder, dataset, classes, keys), *headers(folder, dataset.keys), *memory(held, size)]
    warnings += alike(dataset.classes)
    if folder_labels:
        warnings += never_seen(dataset, "the folders of the images")
    if classes is None:
        warnings += unseen(dataset, "the sub folders")
    settings = [
        Setting("name", "image_folder", "Images in a folder: png, jpg, webp, gif, bmp, tiff, ppm, avif."),
        Setting("folder", stored(folder, home), f"Where they lie. {PLACES} New images are taken in at the next start."),
        Setting("size", size, SIZE.format(held=_size(held))),
        Setting("strict", False, STRICT),
        *class_settings(home, classes, "sub folders of the folder, in which the images of that class lie"),
    ]
    if classes is not None:
        settings.append(Setting("folder_labels", folder_labels, FOLDER_LABELS))
    if keys is not None:
        settings.append(Setting("keys", stored(keys, home), "A file of paths in the folder, one a line: the items."))
    return NewDataset(dataset, settings, f"{len(dataset):,} images in {folder}", warnings)


def new_table(
    home: Path,
    path: Path,
    *,
    text: str,
    key: str | None = None,
    label: str | None = None,
    classes: Path | None = None,
) -> NewDataset:
    """A text in every row of a .csv, .csv.gz or .parquet file."""
    if classes is None and label is None:
        refuse_no_classes(path, ", or --label COLUMN where some rows have a label")
    dataset = Table(path, text=text, key=key, label=label, classes=classes)
    refuse_few(dataset, path, "texts")
    settings = [
        Setting("name", "table", "Texts in the rows of a table: .csv, .csv.gz or .parquet."),
        Setting("path", stored(path, home), f"The file. {PLACES} New rows are taken in at the next start."),
        Setting("text", text, "The column that people read."),
        Setting("key", key or "id", KEY, example=key is None),
        Setting("label", label or "label", LABEL, example=label is None),
        *class_settings(home, classes, "the labels that occur"),
    ]
    warnings = alike(dataset.classes)
    if label is not None:
        missing = unseen if classes is None else never_seen
        warnings += missing(dataset, f"the column {label!r}")
    return NewDataset(dataset, settings, f"{len(dataset):,} texts in {path}", warnings)


def new_features(home: Path, path: Path, *, keys: Path | None = None, classes: Path | None = None) -> NewDataset:
    """Numbers (N, D) in an .npy file."""
    if classes is None:
        refuse_no_classes(path)
    dataset = FeatureFile(path, keys=keys, classes=classes)
    refuse_few(dataset, path, "rows")
    settings = [
        Setting("name", "feature_file", "Numbers (items, features) in a NumPy file."),
        Setting("path", stored(path, home), f"The file. {PLACES} Rows that are added are taken in at the next start."),
        Setting("keys", stored(keys, home) if keys else "keys.txt", KEYS, example=keys is None),
        *class_settings(home, classes, ""),
    ]
    width = dataset.inputs.shape[1]
    summary = f"{len(dataset):,} items of {width:,} features in {path}"
    return NewDataset(dataset, settings, summary, alike(dataset.classes))


# --- what campaign.toml says -----------------------------------------------------------------------------------

PLACES = "Paths are from the folder of this file, so that it and its data may move together, or absolute."
SIZE = (
    "The square in the middle of each image is resized to so many pixels for the model ({held} for all); people "
    "see whole images. Encoders want about 224."
)
STRICT = "What to do with a file that cannot be read: false sets it aside and lists it; true refuses to start."
FOLDER_LABELS = (
    "Whether the folder that an image lies in is its known label, if it is named after a class. See `known` above."
)
KEY = "The column that names an item, the same whatever row it stands in. Without it an item is its row's number."
LABEL = "A column of labels, empty where not known. See `known` above."
KEYS = "A file with the name of each row, one a line. Without it an item is its row's number."


def class_settings(home: Path, classes: Path | None, otherwise: str) -> list[Setting]:
    without = f"; without it, {otherwise}" if otherwise else ""
    why = (
        "The classes: a file of names, one a line or a JSON list; a table (.csv, .tsv, .parquet) with the columns "
        "name, description and example; a folder of texts and images named after the classes, or of a folder for each; "
        f"or a list here{without}. A name that is added later is offered from the next start on; none may be taken "
        "away. Descriptions and examples are shown to people, and may be changed at any time."
    )
    return [Setting("classes", stored(classes, home) if classes else "classes.txt", why, example=classes is None)]


def stored(path: Path, home: Path) -> str:
    """From the campaign's folder where both lie in one folder and can move together, else from the root.

    >>> campaign = Path("/data/pets/campaign")
    >>> stored(Path("/data/pets/photos"), campaign), stored(Path("/mnt/photos"), campaign)
    ('../photos', '/mnt/photos')
    """
    place, folder = Path(os.path.abspath(path)), home.resolve()  # noqa: PTH100 - a link to the data stays one
    together = place.resolve().is_relative_to(folder.parent) and folder.parent != Path(folder.anchor)
    return Path(os.path.relpath(place.resolve(), folder)).as_posix() if together else str(place)


# --- what is wrong with it -------------------------------------------------------------------------------------


def refuse_no_classes(path: Path, otherwise: str = "") -> NoReturn:
    if not path.is_file():  # what is wrong first
        raise ShortlistError(f"{path}: there is no such file")
    raise ShortlistError(f"{path}: the names of the classes are not known; give --classes FILE{otherwise}")


def refuse_few(dataset: Arrays, place: Path, what: str) -> None:
    if len(dataset) < LEAST:
        raise ShortlistError(f"{place}: {len(dataset)} {what}; a campaign needs at least {LEAST} items")


def refuse_inside(home: Path, folder: Path) -> None:
    if home.resolve().is_relative_to(folder.resolve()):
        raise ShortlistError(
            f"{home}: a campaign in the folder of the images ({folder}) would be taken for some of them; "
            "choose a folder outside it"
        )


def refuse_no_class_folders(folder: Path) -> None:
    refuse_no_folder(folder)
    names = class_folders(folder)
    if len(names) < 2:
        found = f"there is only one sub folder, {names[0]!r}" if names else "there are no sub folders"
        raise ShortlistError(
            f"{folder}: {found}, and each would be a class, of which at least 2 are needed; give --classes FILE, one "
            "name a line"
        )


def deeper_images(folder: Path, dataset: Arrays, classes: Path | None, keys: Path | None) -> list[str]:
    if classes is not None or keys is not None:
        return []
    left = sorted(set(image_keys(folder, nested=True)) - set(dataset.keys))
    deep = f"it lies too deep for CLASS/image and is no item, as {len(left)} in all; see --classes"
    return [f"{folder / left[0]}: {deep}"] if left else []


def headers(folder: Path, keys: Sequence[str]) -> list[str]:
    """A warning that names the first file that is no image; refused where none is one."""
    chosen = keys
    if len(keys) > LOOKED_AT:
        chosen = [keys[i] for i in sorted(np.random.default_rng(0).permutation(len(keys))[:LOOKED_AT].tolist())]
    problems = [problem for key in chosen if (problem := header_problem(folder / key)) is not None]
    if not problems:
        return []
    looked = f"{len(chosen):,}" if len(chosen) == len(keys) else f"{len(chosen):,} files, chosen from {len(keys):,},"
    if len(problems) == len(chosen):
        raise ShortlistError(f"{problems[0]}; nor can any other of the {looked} that were looked at")
    return [f"{problems[0]} ({len(problems):,} of {looked} looked at); such items will be set aside and listed"]


def never_seen(dataset: Arrays, place: str) -> list[str]:
    """A warning that names the classes which no label that is known says."""
    seen = set(dataset.labels.tolist())
    missing = [name for cls, name in enumerate(dataset.classes) if cls not in seen]
    if not missing:
        return []
    some = ", ".join(map(repr, missing[:10])) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
    there = f"{len(missing)} of the {len(dataset.classes)} classes never occur in {place}"
    return [f"{there}: {some}; if they are there under other names, correct one or the other"]


def unseen(dataset: Arrays, place: str) -> list[str]:
    """A warning where classes seen once say that others were not seen at all (Good-Turing; Chao 1984).

    >>> unseen(Arrays(list("abcdefgh?????"), [0, 0, 1, 2, 3, 4, 5, 6] + [-1] * 5, classes=list("abcdefg")), "topic")
    ['6 of the 7 classes in topic occur once, so there are more: by estimate 8, with 75% of the items; give all \
classes with --classes FILE, or add them to campaign.toml when they turn up']
    """
    counts = np.bincount(dataset.labels[dataset.labels >= 0], minlength=len(dataset.classes))
    n, once, twice = int(counts.sum()), int((counts == 1).sum()), int((counts == 2).sum())
    # once out of few labels is chance: more than its own error, and than an item in a hundred
    if n == len(dataset) or once <= 2 * math.sqrt(once + 2 * twice) or once < n / 100:
        return []
    more = math.ceil(once * (once - 1) / (2 * (twice + 1)))
    told = f"{once} of the {(counts > 0).sum()} classes in {place} occur once, so there are more: by estimate {more},"
    return [
        f"{told} with {100 * once / n:.0f}% of the items; give all classes with --classes FILE, or add them to "
        "campaign.toml when they turn up"
    ]


def alike(classes: Sequence[str]) -> list[str]:
    """A warning that names classes which people would not tell apart: by case, blanks or signs that are not seen.

    >>> alike(["ham", "spam", "Ham"])
    ["the classes 'ham' and 'Ham' differ only by case, blanks or signs that are not seen; are they one class?"]
    """
    groups: dict[str, list[str]] = {}
    for name in classes:
        groups.setdefault(as_seen(name), []).append(name)
    told = "differ only by case, blanks or signs that are not seen; are they one class?"
    return [f"the classes {' and '.join(map(repr, group))} {told}" for group in groups.values() if len(group) > 1]


def as_seen(name: str) -> str:
    """What a reader takes in of a name.

    >>> as_seen(" Ｈam\u00a0 2\u200b") == as_seen("ham 2")
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    hidden = {sign for sign in folded if unicodedata.category(sign) in UNSEEN and not sign.isspace()} | SELECTORS
    return " ".join("".join(sign for sign in folded if sign not in hidden).split())


def memory(held: int, size: int) -> list[str]:
    much = f"all images at {size} pixels take {_size(held)} of memory; lower size in campaign.toml if that is too much"
    return [] if held < MUCH else [much]


def _size(held: int) -> str:
    return f"{held / 10**9:.1f} GB" if held > 10**9 else f"{held / 10**6:.1f} MB"


# --- how many to ask -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """How many to ask, and when.

    >>> Numbers.of(10_000, 100)
    Numbers(holdout=200, initial=300, budget=490, n_cal=122, ahead=122)
    >>> Numbers.of(60, 3)
    Numbers(holdout=0, initial=12, budget=15, n_cal=7, ahead=3)
    """

    holdout: int
    initial: int
    budget: int
    n_cal: int
    ahead: int

    @classmethod
    def of(cls, n_items: int, n_classes: int, *, is_tested: bool = False) -> Self:
        """`is_tested`: the dataset has a test split, and needs no holdout to be measured."""
        holdout = 0 if is_tested or n_items < 1000 else min(200, n_items // 20)
        pool = n_items - holdout
        initial = max(2, min(max(50, 3 * n_classes), pool // 5))
        budget = max(2, min(max(100, pool // 20, n_classes), 1000, pool // 4))
        n_cal = min(max(50, budget // 4), budget // 2)
        return cls(holdout, initial, budget, n_cal, budget // 4)


# --- the model -------------------------------------------------------------------------------------------------

SCIKIT = "A scikit-learn classifier. With the extra torch: hub (pretrained encoders), linear_probe, network."
ESTIMATOR = (
    "Trained from scratch every round; a smaller C holds it back more, which few labels of hard classes want. Anything "
    'of scikit-learn with predict_proba will do, as in Python: "RandomForestClassifier(n_estimators=300)". Its default '
    "solver, lbfgs, takes seconds for 20,000 labels of 300 classes."
)
ENCODER = (
    "What makes vectors of the items, once; without it the estimator sees words or pixels. {known}, or hub:NAME (extra "
    "torch; downloaded once)."
)
COMPONENTS = "Learns from so many principal components of all items: fewer are faster. Without it, from all there is."


@dataclass(frozen=True)
class NewModel:
    settings: Sequence[Setting]
    words: str
    better: str | None = None  # what to install for a better one


def new_model(dataset: Arrays, wanted: str | None = None) -> NewModel:
    """The best that is installed and needs no download; or `scikit`, or an encoder: `package:NAME` or `hub:NAME`."""
    wanted = wanted or best_installed(dataset.kind) or "scikit"
    if wanted.startswith(PREFIX):
        return _on_encoder(dataset, wanted)
    if wanted != "scikit":
        return _hub(dataset, wanted)
    made = _scikit(dataset)
    build("models", {s.key: s.value for s in made.settings if not s.example}, "model")
    return made


def _on_encoder(dataset: Arrays, encoder: str) -> NewModel:
    settings = [
        Setting("name", "scikit", SCIKIT),
        Setting("encoder", encoder, _known_encoders(dataset)),
        Setting("estimator", "LogisticRegression(C=100, max_iter=1000)", ESTIMATOR),
        Setting("components", 256, COMPONENTS, example=True),
    ]
    refuse_kind(encoder, dataset.kind)
    build("models", {s.key: s.value for s in settings if not s.example}, "model").check()
    return NewModel(settings, f"logistic regression on vectors of {encoder}", next_better(dataset, encoder))


def _known_encoders(dataset: Arrays) -> str:
    return ENCODER.format(known=" or, better, ".join(of_kind(dataset.kind)))


def _scikit(dataset: Arrays, C: float = 0.3) -> NewModel:
    """Logistic regression; `C` is for drawings and for features, as texts have many more of them."""
    if dataset.kind == "texts":
        many = _n_words(dataset) * len(dataset.classes) > WEIGHTS
        estimator, k, reduced = "LogisticRegression(C=30, max_iter=1000)", 256, many
        on = f"{k} components of TF-IDF" if many else "TF-IDF"
    elif dataset.kind == "images":
        estimator, k, reduced = f"LogisticRegression(C={C}, max_iter=1000)", 64, True
        on = f"{k} principal components of the pixels"
    else:
        estimator = f"Pipeline([('scale', StandardScaler()), ('regression', LogisticRegression(C={C}, max_iter=1000))])"
        k, reduced, on = 256, False, "the features, each scaled to mean 0 and deviation 1"
    settings = [
        Setting("name", "scikit", SCIKIT),
        Setting("estimator", estimator, ESTIMATOR),
        Setting("components", k, COMPONENTS, example=not reduced),
    ]
    if encoders := of_kind(dataset.kind):
        settings.insert(1, Setting("encoder", encoders[0], _known_encoders(dataset), example=True))
    return NewModel(settings, f"logistic regression on {on}", next_better(dataset, None))


def _n_words(dataset: Arrays) -> int:
    """Of some of the texts; all of them hold a few times as many."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = dataset.inputs[:: max(1, len(dataset) // SAMPLE)]
    try:
        return len(CountVectorizer().fit(texts).vocabulary_)
    except ValueError as error:  # nothing that counts as a word
        raise ShortlistError(f"{dataset.name}: the texts cannot be learnt from: {error}") from None


def _hub(dataset: Arrays, wanted: str) -> NewModel:
    kind, _, name = wanted.partition(":")
    if kind != "hub" or not name:
        raise ShortlistError(
            f"--model: {wanted!r} is neither scikit nor package:NAME, such as {next(iter(of_kind('texts')))}, nor "
            "hub:NAME, such as hub:facebook/dino-vits16"
        )
    if dataset.kind == "features":
        raise ShortlistError("--model: an encoder reads images or texts, and these are features")
    name = str(Path(name).resolve()) if Path(name).is_dir() else name  # it is to be found from any place
    build("models", {"name": "hub", "encoder": name}, "model").check()
    settings = [
        Setting("name", "hub", "An encoder of transformers. Other models: scikit, linear_probe, kernel_svm, network."),
        Setting("encoder", name, "A name on huggingface.co, a folder with a saved model, or package:NAME."),
        Setting("tune", "probe", 'The encoder stays as it is ("probe"), or is trained every round ("all"; a GPU).'),
        Setting("C", 0.3, "How freely the probe may weigh features; small values hold it back."),
    ]
    return NewModel(settings, f"a linear probe on features of {name}")


# --- the file --------------------------------------------------------------------------------------------------


def campaign_toml(
    home: Path, data: NewDataset, model: NewModel, sizes: Numbers | None = None, guidelines: Path | None = None
) -> str:
    """The whole file; it is itself a recipe."""
    n, n_classes, is_tested = len(data.dataset), len(data.dataset.classes), data.dataset.test_labels is not None
    n_known = int((data.dataset.labels >= 0).sum())
    sizes = sizes or Numbers.of(n, n_classes, is_tested=is_tested)
    name = home.resolve().name
    head = [
        f"shortlist label {name}     (from the folder above: opens the page where people answer)",
        f"{data.summary}; {n_classes:,} classes. Change what you like before the first start; after it only [stop], "
        "[overlap], price, control, where the data lies, and how much of it and how many classes there are.",
    ]
    values = {
        "name": name,
        "annotator": "people",
        "known": "use" if 0 < n_known < n else "ask",
        "control": 0.02,
        "guidelines": stored(guidelines, home) if guidelines else "guidelines.md",
        "seed": 0,
        **asdict(sizes),
    }
    more = {"holdout": f" {_holdout(sizes.holdout, is_tested)}"}
    examples = set() if guidelines else {"guidelines"}
    settings = [
        Setting(key, values.get(key, field.default), field.description + more.get(key, ""), example=key in examples)
        for key, field in Recipe.model_fields.items()
        if field.description
    ]
    _, _, rest = Path(__file__).with_suffix(".toml").read_text("utf-8").partition("\n\n")
    rest = rest.replace("{n_cal}", str(sizes.n_cal))
    written = document(head, settings, {"dataset": data.settings, "model": model.settings}) + "\n" + rest
    parse_recipe(tomllib.loads(written), str(home / FILE))
    return written


def _holdout(holdout: int, is_tested: bool) -> str:
    if is_tested:
        return "None: this dataset has a test split to measure with."
    if not holdout:
        return "None here, for few items are better spent on training; accuracy is then not known."
    return f"So many tell it to within {98 / math.sqrt(holdout):.0f} points either way; 0 saves their cost."


# --- writing it ------------------------------------------------------------------------------------------------


def document(head: Sequence[str], settings: Sequence[Setting], tables: Mapping[str, Sequence[Setting]]) -> str:
    """A file: comments at its head, then the settings, each below its comment, then the tables."""
    plain = "\n".join(setting.lines() for setting in settings)
    below = [f"[{name}]\n" + "\n".join(s.lines() for s in table) for name, table in tables.items()]
    return "\n".join(["".join(map(comment, head)), plain, *below])


def refuse_written(home: Path, *, force: bool = False) -> None:
    """What is there already stays: answers always, and a campaign.toml unless it may go."""
    if home.exists() and not home.is_dir():
        raise ShortlistError(f"{home}: a campaign lives in a folder, and this is a file")
    if (home / "campaign.db").exists():
        raise ShortlistError(
            f"{home}: a campaign has begun here; go on with: shortlist label {home}, or choose another folder"
        )
    if (home / FILE).exists() and not force:
        raise ShortlistError(
            f"{home / FILE}: is there already; --force writes over it, shortlist label {home} starts it"
        )


def demo_campaign(folder: str | Path, kind: Demo = "glyphs") -> Path:
    """A campaign that needs no data, for people to try: its campaign.toml, as it is if it is there already."""
    home = Path(folder)
    if (home / FILE).exists():
        return home / FILE
    refuse_written(home)
    if kind not in DEMOS:
        raise ShortlistError(f"demo: {kind!r} is none of {', '.join(DEMOS)}")
    data = _digits() if kind == "digits" else _glyphs()
    model = _scikit(data.dataset, C=30)  # clean drawings: little is to be held back
    write_text(home / FILE, campaign_toml(home, data, model, DEMOS[kind]))
    return home / FILE


# few questions a round: who tries it wants to see lists soon, not a good model
DEMOS = {
    "digits": Numbers(holdout=0, initial=30, budget=40, n_cal=16, ahead=10),
    "glyphs": Numbers(holdout=0, initial=60, budget=60, n_cal=24, ahead=16),
}


def _digits() -> NewDataset:
    settings = [
        Setting("name", "digits", "Handwritten digits that come with scikit-learn, 8×8 pixels."),
        Setting("images", True, "As drawings, which people can look at; false: as 64 features."),
    ]
    return NewDataset(Digits(images=True), settings, "handwritten digits")


def _glyphs() -> NewDataset:
    settings = [
        Setting("name", "glyphs", "Characters in many fonts, turned and noisy."),
        Setting("classes", 36, "How many, from 10 to 2,000: digits and capitals, then what fewer people can name."),
        Setting("items", 4000, "How many drawings of them."),
        Setting("size", 32, "Pixels a side."),
        Setting("noise", 0.02, "Of the pixels, from 0 to 1."),
        Setting("bare", True, 'Classes are called "A", not "U+0041 A".'),
    ]
    return NewDataset(Glyphs(**{s.key: s.value for s in settings[1:]}), settings, "characters in 16 fonts")
