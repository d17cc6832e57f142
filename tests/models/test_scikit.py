from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from shortlist import Arrays, Campaign, CandidateSet, Encoder, Random
from shortlist.models.perturbed import Ascent
from shortlist.models.scikit import Scikit
from shortlist.types import Ints, Labelled, Model, Rng, ShortlistError
from tests.models.toys import Toy, accuracy, all_probs, blobs, digits


def rng(seed: int = 0) -> Rng:
    return np.random.default_rng(seed)


def everything(data: Toy, n_classes: int | None = None) -> Labelled:
    return Labelled(np.arange(len(data.labels)), data.labels, n_classes or int(data.labels.max()) + 1)


def fitted(estimator: Any, data: Toy, labelled: Labelled, seed: int = 0, batch: int = 4096) -> Model:
    model: Model = Scikit(estimator, batch)
    model.prepare(data)
    model.fit(labelled, rng=rng(seed))
    return model


def test_logistic_regression_learns_digits_without_a_warning() -> None:
    data = digits()
    model = fitted(None, data, everything(data))
    assert accuracy(all_probs(model.predict_test()), data.test_labels) > 0.93


@pytest.mark.parametrize("estimator", [None, RandomForestClassifier(20), KNeighborsClassifier(3), MultinomialNB()])
def test_probabilities_are_float32_rows_that_sum_to_one(estimator: Any) -> None:
    data = digits(300)
    probs = all_probs(fitted(estimator, data, everything(data)).predict(np.arange(300)))
    assert probs.dtype == np.float32
    assert probs.shape == (300, 10)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def test_predictions_follow_the_items_asked_for_in_batches_again_and_again() -> None:
    data = blobs()
    stream = fitted(None, data, everything(data), batch=4).predict(np.array([7, 0, 99, 7, 50, 1]))
    assert [len(batch.probs) for batch in stream] == [4, 2]
    once, again = all_probs(stream), all_probs(stream)
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once[0], once[3])
    assert np.concatenate([batch.embeddings for batch in stream]).tolist() == data.inputs[[7, 0, 99, 7, 50, 1]].tolist()


def test_a_stream_stays_with_the_fit_it_came_from() -> None:
    data = blobs()
    model = fitted(None, data, everything(data))
    stream = model.predict_test()
    before = all_probs(stream)
    model.fit(Labelled(np.arange(60), data.labels[:60], 4), rng=rng())
    np.testing.assert_array_equal(all_probs(stream), before)
    assert not np.array_equal(all_probs(model.predict_test()), before)


def test_sparse_inputs_have_no_embeddings() -> None:
    data = Toy("features", sparse.csr_array(np.eye(4)), np.array([0, 0, 1, 1]))
    (batch,) = fitted(None, data, everything(data)).predict(np.arange(4))
    assert batch.embeddings is None
    assert batch.probs.argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_texts_go_all_the_way() -> None:
    data = Toy("texts", ["oil price", "oil barrel", "wheat crop", "wheat price"], np.array([1, 1, 0, 0]), ["more oil"])
    assert all_probs(fitted(None, data, everything(data)).predict_test()).argmax(axis=1).tolist() == [1]


def test_classes_without_labels_get_nothing() -> None:
    data = blobs()
    seen = np.flatnonzero((data.labels == 1) | (data.labels == 3))
    probs = all_probs(fitted(None, data, Labelled(seen, data.labels[seen], 6)).predict_test())
    assert probs.shape == (200, 6)
    assert not probs[:, [0, 2, 4, 5]].any()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def test_one_class_is_a_constant() -> None:
    data = blobs()
    probs = all_probs(fitted(None, data, Labelled(np.array([45]), np.array([1]), 4)).predict_test())
    assert (probs == np.eye(4, dtype=np.float32)[1]).all()


RANDOM_PIPELINE = make_pipeline(StandardScaler(), SelectFromModel(RandomForestClassifier(5)), RandomForestClassifier(9))


@pytest.mark.parametrize("estimator", [RandomForestClassifier(9), RANDOM_PIPELINE, SGDClassifier(loss="log_loss")])
def test_the_same_seed_gives_the_same_bits(estimator: Any) -> None:
    data = digits(200)
    first, second, other = (
        all_probs(fitted(estimator, data, everything(data), seed).predict_test()) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_order_of_the_answers_does_not_matter() -> None:
    data = digits(200)
    order: Ints = rng().permutation(200)
    shuffled = Labelled(order, data.labels[order], 10)
    first = fitted(RandomForestClassifier(9), data, everything(data))
    second = fitted(RandomForestClassifier(9), data, shuffled)
    np.testing.assert_array_equal(all_probs(first.predict_test()), all_probs(second.predict_test()))


def test_the_estimator_given_is_never_fitted_itself() -> None:
    estimator = LogisticRegression()
    data = blobs()
    fitted(estimator, data, everything(data))
    assert not hasattr(estimator, "coef_")
    assert estimator.random_state is None


@pytest.mark.parametrize("estimator", [SVC(), StandardScaler(), LogisticRegression, make_pipeline(SVC())])
def test_without_predict_proba_it_is_refused(estimator: Any) -> None:
    with pytest.raises(ShortlistError, match="cannot be a model, because it has no predict_proba"):
        Scikit(estimator)


class Broken:
    def __init__(self, row: list[float]) -> None:
        self.row = row

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {"row": self.row}

    def set_params(self, **params: object) -> Broken:
        return self

    def fit(self, inputs: Any, labels: Ints) -> Broken:
        return self

    def predict_proba(self, inputs: Any) -> Any:
        return np.tile(self.row, (len(inputs), 1))


@pytest.mark.parametrize("row", [[np.nan, 1.0], [0.0, 0.0], [-0.5, 1.5], [np.inf, 0.0]])
def test_what_is_no_distribution_is_refused(row: list[float]) -> None:
    data = blobs((5, 5))
    with pytest.raises(ShortlistError, match="a row that is no distribution"):
        all_probs(fitted(Broken(row), data, everything(data)).predict_test())


def test_rows_that_do_not_sum_to_one_are_scaled() -> None:
    data = blobs((5, 5))
    probs = all_probs(fitted(Broken([1.0, 3.0]), data, everything(data)).predict_test())
    assert (probs == np.array([0.25, 0.75], np.float32)).all()


def test_what_it_cannot_do_it_says(tmp_path: Path) -> None:
    data = blobs(n_test=3)
    model = Scikit(MultinomialNB())
    with pytest.raises(ShortlistError, match="call prepare"):
        model.fit(everything(data), rng=rng())
    model.prepare(Toy("features", data.inputs, data.labels))
    with pytest.raises(ShortlistError, match="learnt nothing yet"):
        model.predict(np.arange(3))
    with pytest.raises(ShortlistError, match="no test split"):
        model.predict_test()
    with pytest.raises(ShortlistError, match="cannot learn from no labels"):
        model.fit(Labelled(np.arange(0), np.arange(0), 4), rng=rng())
    with pytest.raises(ShortlistError, match=r"Scikit\(MultinomialNB\(\)\) has no perturbed loss"):
        model.perturbed_loss(np.arange(3))
    with pytest.raises(ShortlistError, match=r"scikit.batch: must be at least 1"):
        Scikit(batch=0)


# --- the perturbed loss ----------------------------------------------------------------------------------------


def by_hand(weights: Any, intercepts: Any, x: Any, rho: float = 0.05) -> float:
    """The definition for one item and the classes seen, parameter by parameter."""
    theta, row = np.column_stack([weights, intercepts]), np.append(x, 1.0)
    logits = theta @ row
    label = logits.argmax()
    p = np.exp(logits - np.logaddexp.reduce(logits))
    gradient = np.outer(p - (np.arange(len(p)) == label), row)
    moved = (theta + rho * theta**2 * gradient / np.linalg.norm(theta * gradient)) @ row
    return float(np.logaddexp.reduce(moved) - moved[label])


class Doubled(BaseEstimator):  # type: ignore[misc]
    """A step that learns nothing, as people write them."""

    def fit(self, inputs: Any, labels: Any = None) -> Doubled:
        return self

    def transform(self, inputs: Any) -> Any:
        return 2 * inputs


PIPELINES = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    make_pipeline(LogisticRegression()),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline("passthrough", Doubled(), LogisticRegression()),
    make_pipeline(StandardScaler(), make_pipeline(PolynomialFeatures(2), LogisticRegression(solver="newton-cg"))),
]


@pytest.mark.parametrize("estimator", PIPELINES, ids=lambda e: re.sub(r"\W+", "-", str(e)))
@pytest.mark.parametrize("classes", [(0, 1, 2, 3), (1, 3)])
def test_the_loss_of_logistic_regression_is_the_definitions(estimator: Any, classes: tuple[int, ...]) -> None:
    data = blobs()
    seen = np.flatnonzero(np.isin(data.labels, classes))
    model = Scikit(estimator, batch=7)
    model.prepare(data)
    model.fit(Labelled(seen, data.labels[seen], 6), rng=rng())
    trained: Any = clone(estimator).fit(data.inputs[seen], data.labels[seen])
    rows, last = data.inputs, trained
    while hasattr(last, "steps"):
        for _, step in last.steps[:-1]:
            rows = rows if step == "passthrough" else step.transform(rows)
        last = last.steps[-1][1]
    two = len(classes) == 2  # one row of weights: the other class has none
    weights = np.vstack([0 * last.coef_, last.coef_]) if two else last.coef_
    intercepts = np.append(0, last.intercept_) if two else last.intercept_
    items = rng(1).permutation(100)[:30]
    losses = model.perturbed_loss(items)
    assert losses.dtype == np.float64
    np.testing.assert_allclose(losses, [by_hand(weights, intercepts, rows[i]) for i in items], rtol=1e-6)


def test_a_step_for_every_batch() -> None:
    data = blobs()
    model = Scikit(batch=10, ascent="batch")
    model.prepare(data)
    model.fit(everything(data), rng=rng())
    whole = model.perturbed_loss(np.arange(25))
    parts = [model.perturbed_loss(np.arange(25)[part]) for part in (slice(10), slice(10, 20), slice(20, 25))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert not np.allclose(whole, losses_of(data, everything(data), np.arange(25)))


def losses_of(data: Toy, labelled: Labelled, items: Ints, ascent: Ascent = "item", batch: int = 4096) -> Any:
    model = Scikit(batch=batch, ascent=ascent)
    model.prepare(data)
    model.fit(labelled, rng=rng())
    return model.perturbed_loss(items)


def test_batches_make_no_difference_to_the_loss_of_an_item() -> None:
    data = digits(200)
    few = Labelled(np.arange(100), data.labels[:100], 10)
    whole = losses_of(data, few, np.arange(200))
    np.testing.assert_allclose(losses_of(data, few, np.arange(200), batch=9), whole, rtol=1e-9)
    np.testing.assert_allclose(losses_of(data, few, np.arange(200), "batch", batch=1), whole, rtol=1e-9)


def test_texts_have_a_loss_and_stay_sparse() -> None:
    texts = ["oil price", "oil barrel", "wheat crop", "wheat price", "price"]
    data = Toy("texts", texts, np.array([1, 1, 0, 0, 0]))
    losses = losses_of(data, Labelled(np.arange(4), data.labels[:4], 2), np.arange(5))
    assert losses.argmax() == 4
    dense = Toy("features", TfidfVectorizer().fit_transform(texts).toarray(), data.labels)
    np.testing.assert_allclose(losses, losses_of(dense, Labelled(np.arange(4), data.labels[:4], 2), np.arange(5)))


def test_one_class_has_no_loss_and_no_items_have_none() -> None:
    data = blobs()
    assert losses_of(data, Labelled(np.array([45]), np.array([1]), 4), np.arange(3)).tolist() == [0, 0, 0]
    assert losses_of(data, everything(data), np.arange(0)).shape == (0,)


@pytest.mark.parametrize(
    "estimator",
    [
        *(MultinomialNB(), SGDClassifier(loss="log_loss"), OneVsRestClassifier(LogisticRegression())),
        *(LogisticRegression(solver="liblinear"), make_pipeline(StandardScaler(), RandomForestClassifier())),
        make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")),
    ],
    ids=lambda e: re.sub(r"\W+", "-", str(e)),
)
def test_an_estimator_without_a_softmax_has_no_loss_and_says_so_beforehand(estimator: Any) -> None:
    with pytest.raises(
        ShortlistError, match=r"has no perturbed loss, which SAAL needs; use LogisticRegression \(alone"
    ):
        Scikit(estimator).check_perturbed_loss()


def test_how_to_ascend_is_one_of_two() -> None:
    with pytest.raises(ShortlistError, match=r"scikit.ascent: must be item or batch, not 'up'"):
        Scikit(ascent="up")  # type: ignore[arg-type]
    Scikit(LogisticRegressionCV()).check_perturbed_loss()


def test_the_spec_tells_a_step_for_every_batch_and_leaves_the_usual_out() -> None:
    """So that a campaign from before there was a choice goes on."""
    assert Scikit(ascent="batch").spec() == {**Scikit().spec(), "ascent": "batch"}
    assert list(Scikit(ascent="item").spec()) == ["name", "estimator", "batch"]


# --- what is kept, and said ------------------------------------------------------------------------------------


def test_nothing_is_kept(tmp_path: Path) -> None:
    data = blobs()
    model = fitted(None, data, everything(data))
    model.save(tmp_path)
    assert not list(tmp_path.iterdir())
    assert model.load(tmp_path, everything(data)) is False


def test_the_spec_is_one_whole_line() -> None:
    steps = [FunctionTransformer(np.log1p)] + [StandardScaler(with_std=False) for _ in range(20)]
    written = Scikit(make_pipeline(*steps, LogisticRegression(C=0.125))).spec()["estimator"]
    assert isinstance(written, str)
    assert len(written) > 700  # where scikit-learn begins to leave things out
    assert "\n" not in written
    assert "  " not in written
    assert "..." not in written
    assert "C=0.125" in written


# --- components ------------------------------------------------------------------------------------------------


def test_components_of_pixels_and_words_learn_what_their_items_teach() -> None:
    data = digits()
    model = Scikit(components=30)
    model.prepare(data)
    model.fit(everything(data), rng=rng())
    assert accuracy(all_probs(model.predict_test()), data.test_labels) > 0.93
    (batch, *_) = model.predict(np.arange(5))
    assert batch.embeddings is not None
    assert (batch.embeddings.shape, batch.embeddings.dtype) == ((5, 30), np.float32)
    words = Toy(
        "texts", np.array(["oil price", "oil well", "wheat crop", "wheat field"], object), np.array([0, 0, 1, 1])
    )
    model = Scikit(components=50)  # more than there are
    model.prepare(words)
    model.fit(everything(words), rng=rng())
    assert all_probs(model.predict(np.arange(4))).argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_components_are_said_and_the_same_every_time() -> None:
    data = digits(300)
    one, other = Scikit(components=10), Scikit(components=10)
    for model in (one, other):
        model.prepare(data)
        model.fit(everything(data), rng=rng())
    np.testing.assert_array_equal(all_probs(one.predict(np.arange(300))), all_probs(other.predict(np.arange(300))))
    assert one.spec()["components"] == 10
    assert "components" not in Scikit().spec()
    with pytest.raises(ShortlistError, match=r"scikit.components: must be at least 1, not 0"):
        Scikit(components=0)


def test_more_weights_than_the_solver_can_count_are_refused_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.models.scikit.MOST_WEIGHTS", 100)
    data = digits(50)
    with pytest.raises(ShortlistError, match=r"10 classes × 64 features to weigh.*set components = 256"):
        fitted(None, data, everything(data))


def test_an_estimator_that_does_not_take_the_items_is_named() -> None:
    model = Scikit(GaussianNB())
    model.prepare(Arrays(["a word", "two words", "three"], ["x", "y", None]))
    with pytest.raises(
        ShortlistError, match=r"GaussianNB\(\) cannot learn from these items \(texts are sparse; compon"
    ):
        model.fit(Labelled(np.array([0, 1]), np.array([0, 1]), n_classes=2), rng=np.random.default_rng(0))


# --- texts as they are, and what would fail --------------------------------------------------------------------

WORDS = ["oil price", "oil barrel", "wheat crop", "wheat price"] * 20


def lengths(texts: Any) -> Any:
    return np.array([[len(text), text.count("oil")] for text in texts])


TAKE_TEXTS = [
    make_pipeline(TfidfVectorizer(), LogisticRegression()),
    make_pipeline("passthrough", make_pipeline(TfidfVectorizer(), StandardScaler(with_mean=False)), MultinomialNB()),
    make_pipeline(make_union(TfidfVectorizer(), CountVectorizer()), LogisticRegression()),
    CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LinearSVC())),
    make_pipeline(FunctionTransformer(lengths), RandomForestClassifier(5)),  # does not say what it takes
]


@pytest.mark.parametrize("estimator", TAKE_TEXTS, ids=lambda e: re.sub(r"\W+", "-", str(e))[:60])
def test_texts_go_as_they_are_to_an_estimator_that_takes_them(estimator: Any) -> None:
    data = Arrays(WORDS, [1, 1, 0, 0] * 20, test_inputs=["oil", "a wheat"], test_labels=[1, 0])
    model = Scikit(estimator)
    model.check_dataset(data, 40)
    model.prepare(data)
    model.fit(Labelled(np.arange(60), data.labels[:60], 3), rng=0)
    probs = all_probs(model.predict(np.arange(80)))
    trained = clone(estimator).fit(np.array(WORDS[:60], object), data.labels[:60])
    if not isinstance(estimator.steps[-1][1] if hasattr(estimator, "steps") else None, RandomForestClassifier):
        np.testing.assert_allclose(probs[:, :2], trained.predict_proba(WORDS), atol=1e-6)
    assert all_probs(model.predict_test()).argmax(axis=1).tolist() == [1, 0]
    assert all(batch.embeddings is None for batch in model.predict(np.arange(80)))


def test_a_pipeline_on_texts_has_a_loss() -> None:
    data = Arrays(WORDS, [1, 1, 0, 0] * 20)
    model = Scikit(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    model.prepare(data)
    model.fit(Labelled(np.arange(80), data.labels, 2), rng=0)
    own = Toy("texts", WORDS, data.labels)
    usual = fitted(LogisticRegression(), own, everything(own)).perturbed_loss(np.arange(9))
    np.testing.assert_allclose(model.perturbed_loss(np.arange(9)), usual, rtol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "n", "message"),
    [
        (
            GaussianNB(),
            40,
            r"GaussianNB\(\) fails on 40 texts of arrays, .*texts are sparse; components = 256 of the model makes",
        ),
        (KNeighborsClassifier(60), 40, "fails on 40 texts .*Expected n_neighbors <= n_samples_fit"),
        (Broken([np.nan, 1.0, 1.0]), 40, "a row that is no distribution"),
    ],
)
def test_what_would_fail_after_the_first_answers_is_refused_before(
    tmp_path: Path, estimator: Any, n: int, message: str
) -> None:
    data = Arrays(WORDS, [1, 1, 0, 0] * 20)
    parts: dict[str, Any] = {"dataset": data, "query": CandidateSet(n_cal=2), "acquisition": Random(), "budget": 5}
    with pytest.raises(ShortlistError, match=f"^model: .*{message}"):
        Campaign(tmp_path / "new", model=Scikit(estimator), initial=n, **parts)
    assert not (tmp_path / "new").exists()


def test_what_a_few_items_are_too_few_for_is_tried_with_as_many_as_there_will_be() -> None:
    data = Arrays(WORDS, [1, 1, 0, 0] * 20)
    Scikit(KNeighborsClassifier(60)).check_dataset(data, 70)
    Scikit().check_dataset(data, 40)
    Scikit(make_pipeline(PCA(60), LogisticRegression())).check_dataset(Arrays(np.eye(80), [0, 1] * 40), 70)


# --- on an encoder's vectors -------------------------------------------------------------------------------------

LLAMA = "package:wordllama"
MAIL = [
    "card stolen",
    "my card was taken",
    "a thief has my card",
    "new PIN",
    "change the PIN",
    "forgot my PIN",
    "",
    "?",
]


def mail(n_test: int = 2) -> Arrays:
    tests: dict[str, Any] = {"test_inputs": MAIL[:n_test], "test_labels": [0] * n_test} if n_test else {}
    return Arrays(MAIL, np.array([0, 0, 0, 1, 1, 1, 0, 1]), classes=["theft", "PIN"], name="mail", **tests)


def test_it_learns_from_the_vectors_of_an_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path))
    encoder = Encoder(LLAMA)
    model, data = Scikit(encoder=LLAMA), mail()
    model.check()
    model.check_dataset(data, 4)
    model.prepare(data)
    model.fit(Labelled(np.array([0, 3]), np.array([0, 1]), 2), rng=np.random.default_rng(0))
    (batch,) = model.predict(np.arange(6))
    assert batch.probs.argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_array_equal(batch.embeddings, encoder.encode(data)[:6])
    (tested,) = model.predict_test()
    assert tested.probs.shape == (2, 2)
    few = Scikit(encoder=LLAMA, components=3)
    few.prepare(mail(0))
    few.fit(Labelled(np.arange(6), data.labels[:6], 2), rng=np.random.default_rng(0))
    (batch,) = few.predict(np.arange(6))
    assert batch.embeddings is not None
    assert batch.embeddings.shape == (6, 3)


def test_a_pipeline_that_reads_texts_is_given_vectors_where_an_encoder_is_named() -> None:
    counting = Scikit(make_pipeline(TfidfVectorizer(), LogisticRegression()), encoder=LLAMA)
    with pytest.raises(ShortlistError, match=r"^model: Pipeline.* fails on 4 texts of mail, .*'lower'"):
        counting.check_dataset(mail(), 4)


def test_the_encoder_is_written_where_there_is_one() -> None:
    regression = "LogisticRegression(C=100, max_iter=1000)"  # vectors of length 1 are to be weighed more than words
    assert Scikit(encoder=LLAMA).spec() == {**Scikit().spec(), "encoder": LLAMA, "estimator": regression}
    assert "encoder" not in Scikit().spec()


def test_an_encoder_of_texts_is_refused_for_images_before_anybody_is_asked() -> None:
    images = Arrays(np.zeros((6, 4, 4), np.uint8), [0, 1] * 3, name="photos")
    with pytest.raises(ShortlistError, match="package:wordllama reads texts, and the dataset holds images"):
        Scikit(encoder=LLAMA).check_dataset(images, 4)
    with pytest.raises(ShortlistError, match="'bert' is neither package:NAME"):
        Scikit(encoder="bert")
