"""A campaign.toml for people to answer: sensible numbers for this many items and classes, and a word about each."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.digits import Digits
from shortlist.datasets.glyphs import Glyphs
from shortlist.experiments.commented import Setting, document
from shortlist.experiments.live import FILE
from shortlist.experiments.new_dataset import NewDataset
from shortlist.experiments.parts import build
from shortlist.experiments.recipes import parse_recipe
from shortlist.types import ShortlistError

Demo: TypeAlias = Literal["digits", "glyphs"]

WEIGHTS = 5_000_000  # classes × words that logistic regression still learns in seconds
COMPONENTS = {"images": 64, "texts": 256}
SAMPLE = 5000  # texts, to estimate how many words there are


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


@dataclass(frozen=True)
class NewModel:
    settings: Sequence[Setting]
    words: str


def new_model(dataset: Arrays, wanted: str | None = None) -> NewModel:
    """One that needs no GPU and no download, or `hub:NAME`: an encoder of transformers with a linear probe."""
    if wanted is not None and wanted != "scikit":
        return _hub(dataset, wanted)
    made = {"images": _pixels, "texts": _words, "features": _features}[dataset.kind](dataset)
    build("models", {s.key: s.value for s in made.settings if not s.example}, "model")
    return made


def _pixels(dataset: Arrays, C: float = 0.3) -> NewModel:
    k = COMPONENTS["images"]
    settings = [_scikit(), _estimator(f"LogisticRegression(C={C}, max_iter=1000)"), _components(k)]
    return NewModel(settings, f"logistic regression on {k} principal components of the pixels")


def _words(dataset: Arrays) -> NewModel:
    k = COMPONENTS["texts"]
    many = _n_words(dataset) * len(dataset.classes) > WEIGHTS
    settings = [_scikit(), _estimator("LogisticRegression(C=30, max_iter=1000)"), _components(k, example=not many)]
    of = f"{k} components of TF-IDF" if many else "TF-IDF"
    return NewModel(settings, f"logistic regression on {of}")


def _features(dataset: Arrays) -> NewModel:
    scaled = "Pipeline([('scale', StandardScaler()), ('regression', LogisticRegression(C=0.3, max_iter=1000))])"
    settings = [_scikit(), _estimator(scaled), _components(256, example=True)]
    return NewModel(settings, "logistic regression on the features, each scaled to mean 0 and deviation 1")


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
        raise ShortlistError(f"--model: {wanted!r} is neither scikit nor hub:NAME, such as hub:facebook/dino-vits16")
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


def _scikit() -> Setting:
    why = "A scikit-learn classifier. With the extra torch: hub (pretrained encoders), linear_probe, network."
    return Setting("name", "scikit", why)


def _estimator(written: str) -> Setting:
    why = (
        "Trained from scratch every round; a smaller C holds it back more, which few labels of hard classes want. "
        "Anything of scikit-learn with predict_proba will do, as in Python: "
        '"RandomForestClassifier(n_estimators=300)". Its default solver, lbfgs, takes seconds for 20,000 labels of '
        "300 classes."
    )
    return Setting("estimator", written, why)


def _components(k: int, *, example: bool = False) -> Setting:
    why = "Learns from so many principal components of all items: fewer are faster. Without it, from all there is."
    return Setting("components", k, why, example)


# --- the file --------------------------------------------------------------------------------------------------


def campaign_toml(home: Path, data: NewDataset, model: NewModel, sizes: Numbers | None = None) -> str:
    """The whole file; it is itself a recipe."""
    n, n_classes, is_tested = len(data.dataset), len(data.dataset.classes), data.dataset.test_labels is not None
    n_known = int((data.dataset.labels >= 0).sum())
    sizes = sizes or Numbers.of(n, n_classes, is_tested=is_tested)
    name = home.resolve().name
    head = [
        f"shortlist label {name}     (from the folder above: opens the page where people answer)",
        f"{data.found}; {n_classes:,} classes. Change what you like before the first start; after it only [stop], "
        "[overlap], price, control, where the data lies, and how much of it and how many classes there are.",
    ]
    settings = [
        Setting("name", name, "What the campaign is called."),
        Setting(
            "annotator", "people", 'Who answers. "simulated", with known labels, is for experiments: shortlist run.'
        ),
        Setting("holdout", sizes.holdout, _why_holdout(sizes.holdout, is_tested)),
        Setting("initial", sizes.initial, INITIAL),
        Setting("budget", sizes.budget, "Items asked in each round after that; then the model is trained again."),
        Setting("ahead", sizes.ahead, AHEAD),
        Setting("known", "use" if 0 < n_known < n else "ask", KNOWN),
        Setting("price", "cost", PRICE),
        Setting("control", 0.02, CONTROL),
        Setting("seed", 0, "Every random choice follows from it; any whole number."),
    ]
    tables = {
        "dataset": data.settings,
        "model": model.settings,
        "query": _query(sizes.n_cal),
        "acquisition": ACQUISITION,
        "stop": STOP,
    }
    written = document(head, settings, tables) + "\n" + OVERLAP
    parse_recipe(tomllib.loads(written), str(home / FILE))
    return written


INITIAL = "Random items asked first, with all classes to choose from: enough for a first model to know most classes."
AHEAD = (
    "Of the next-ranked items so many are kept ready for people while a model trains; they count in the next round. "
    "0: people wait."
)


def _why_holdout(holdout: int, is_tested: bool) -> str:
    what = "Random items asked before all others, and only used to measure accuracy. "
    if is_tested:
        return f"{what}None: this dataset has a test split to measure with."
    if not holdout:
        return f"{what}None here, for few items are better spent on training; accuracy is then not known."
    return f"{what}So many tell it to within {98 / math.sqrt(holdout):.0f} points either way; 0 saves their cost."


def _query(n_cal: int) -> list[Setting]:
    name = (
        "How people are asked: candidate_set shows the likely classes and “None of the above”, as many as make labels "
        "cheapest. Others: top_k (k = 5), one_bit (is it this one?), conventional (all classes)."
    )
    cal = (
        "Of each round's items so many are asked first, and tell how long lists should be. More make that surer, and "
        "fewer are left to gain by it; at most the budget."
    )
    cost = 'What a list costs: "bits" (log2 of its length), or { name = "seconds", a = 0.0, b = 1.59 } as measured.'
    alpha = "To fix the share of lists that may miss the right class, instead of having the cheapest one found."
    return [
        Setting("name", "candidate_set", name),
        Setting("n_cal", n_cal, cal),
        Setting("cost", "bits", cost),
        Setting("alpha", 0.05, alpha, example=True),
    ]


ACQUISITION = (
    Setting(
        "name",
        "cost_aware",
        'Which items are asked: those that teach most per cost. Without it, the inner one alone: name = "entropy".',
    ),
    Setting("inner", "entropy", "What teaches: entropy, margin, least_confident, badge, core_set, random, and others."),
    Setting("d", 0.3, "How much teaching weighs against cost; 0 asks the cheapest items only."),
)
STOP = (
    Setting("rounds", 20, "The campaign ends with the pool, or earlier: after so many rounds,", example=True),
    Setting("cost", 5000, "when so much is spent, in the unit of cost,", example=True),
    Setting("accuracy", 95, "at so many percent of accuracy (needs a holdout),", example=True),
    Setting("flat", 3, "or when accuracy has not risen for so many rounds (needs a holdout).", example=True),
)
KNOWN = (
    'Labels that the data come with: "use" learns from them at once, at no cost, and does not ask; "ask" asks people '
    "all the same. Either way they serve as control questions."
)
PRICE = (
    'What lists are made and items chosen by: "cost", as the query has it, or "measured", the seconds that people take '
    "here for lists of so many options, fitted anew every round. What was spent is always told in the unit of cost."
)
CONTROL = (
    "Share of control questions: about items whose class is sure (a known label, several people who agree, a decision "
    "of the owner), half of them with a list that lacks it. They show who trusts a wrong list, and label nothing."
)
OVERLAP = """\
# Some items answered by several people, to see how far they agree; where they differ the rule decides, "majority" or
# "adjudication" (by the owner).
# [overlap]
# answers = 2
# share = 0.1
# rule = "majority"
"""


# --- writing it ------------------------------------------------------------------------------------------------


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


def write_campaign(home: Path, written: str) -> Path:
    """The file, whole or not at all."""
    home.mkdir(parents=True, exist_ok=True)
    fresh = home / f"{FILE}.new"
    fresh.write_text(written, "utf-8")
    return fresh.replace(home / FILE)


def demo_campaign(folder: str | Path, kind: Demo = "digits") -> Path:
    """A campaign that needs no data, for people to try: its campaign.toml, as it is if it is there already."""
    home = Path(folder)
    if (home / FILE).exists():
        return home / FILE
    refuse_written(home)
    if kind not in DEMOS:
        raise ShortlistError(f"demo: {kind!r} is none of {', '.join(DEMOS)}")
    data = _digits() if kind == "digits" else _glyphs()
    model = _pixels(data.dataset, C=30)  # clean drawings: little is to be held back
    return write_campaign(home, campaign_toml(home, data, model, DEMOS[kind]))


# few questions a round: who tries it wants to see lists soon, not a good model
DEMOS = {
    "digits": Numbers(holdout=0, initial=30, budget=40, n_cal=16, ahead=10),
    "glyphs": Numbers(holdout=0, initial=150, budget=150, n_cal=50, ahead=40),
}


def _digits() -> NewDataset:
    settings = [
        Setting("name", "digits", "Handwritten digits that come with scikit-learn, 8×8 pixels."),
        Setting("images", True, "As drawings, which people can look at; false: as 64 features."),
        Setting("words", True, "Classes zero, one, …: a key is the place of an option on the list, not a digit."),
    ]
    return NewDataset(Digits(images=True, words=True), settings, "handwritten digits")


def _glyphs() -> NewDataset:
    table: dict[str, Any] = {"classes": 500, "items": 10_000, "size": 48}
    whys = {
        "classes": "How many characters, from 10 to 2,000.",
        "items": "How many drawings of them.",
        "size": "Pixels a side.",
    }
    settings = [
        Setting("name", "glyphs", "Characters in many fonts, turned and noisy."),
        *(Setting(key, value, whys[key]) for key, value in table.items()),
    ]
    return NewDataset(Glyphs(**table), settings, "characters in 16 fonts")
