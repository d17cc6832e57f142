from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from shortlist.models.linear.encoding import encode
from shortlist.types import Ints, ShortlistError
from tests.models.toys import Toy

TEXTS = ["oil prices rise", "wheat harvest falls", "oil falls"]
NO_LABELS: Ints = np.full(3, -1)


def test_texts_are_tf_idf_fitted_on_the_training_texts_alone() -> None:
    train, test = encode(Toy("texts", TEXTS, NO_LABELS, ["oil harvest gold"]))
    vectoriser = TfidfVectorizer().fit(TEXTS)
    assert (train != vectoriser.transform(TEXTS)).nnz == 0
    assert test is not None
    assert test.shape == (1, 6)  # "gold" is unknown
    assert test.nnz == 2


def test_texts_may_come_as_an_array() -> None:
    train, test = encode(Toy("texts", np.array(TEXTS), NO_LABELS))
    assert train.shape == (3, 6)
    assert test is None


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(ShortlistError, match="toy: cannot turn the training texts"):
        encode(Toy("texts", ["", "a"], NO_LABELS))


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 5, 3)])
def test_images_become_pixels_in_0_to_1(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    train, test = encode(Toy("images", images, NO_LABELS, images[:2]))
    assert train.dtype == np.float32
    np.testing.assert_allclose(train, images.reshape(3, -1) / 255, rtol=1e-6)
    np.testing.assert_array_equal(test, train[:2])


@pytest.mark.parametrize("images", [np.zeros((3, 4, 4)), np.zeros((3, 16), np.uint8)])
def test_images_of_another_kind_are_refused(images: object) -> None:
    with pytest.raises(ShortlistError, match=r"toy: training inputs: .* is (none of: .* uint8|no array of) images"):
        encode(Toy("images", images, NO_LABELS))


def test_features_stay_as_they_are() -> None:
    dense = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert encode(Toy("features", dense, NO_LABELS))[0] is dense
    assert encode(Toy("features", dense.astype(np.int16), NO_LABELS))[0].dtype == np.float64
    train, _ = encode(Toy("features", sparse.coo_array(dense), NO_LABELS))
    assert sparse.issparse(train)
    np.testing.assert_array_equal(train[np.array([2, 0])].toarray(), dense[[2, 0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_the_first_bad_row_is_named(bad: float, layout: type) -> None:
    features = np.eye(5)
    features[[2, 4], 1] = bad
    with pytest.raises(ShortlistError, match=rf"toy: training inputs, row 2 \(counting from 0\): holds {bad}, "):
        encode(Toy("features", layout(features), NO_LABELS))
    with pytest.raises(ShortlistError, match="toy: test inputs, row 2"):
        encode(Toy("features", np.eye(5), NO_LABELS, layout(features)))


def test_features_that_are_no_table_are_refused() -> None:
    with pytest.raises(ShortlistError, match=r"toy: training inputs: .* is none of: numbers \(N, D\)"):
        encode(Toy("features", np.zeros(3), NO_LABELS))
    with pytest.raises(ShortlistError, match=r"toy: training inputs: .* is none of: numbers \(N, D\)"):
        encode(Toy("features", np.array([["a"], ["b"]]), NO_LABELS))


def test_splits_of_different_width_are_refused() -> None:
    with pytest.raises(ShortlistError, match="a training row holds 2 numbers but a test row 3"):
        encode(Toy("features", np.zeros((3, 2)), NO_LABELS, np.zeros((3, 3))))
