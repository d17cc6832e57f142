"""A few malformed inputs of each kind, and all that failed once; `make torture` has a thousand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests import fuzz


@pytest.fixture(scope="module")
def request_of() -> Iterator[fuzz.Input]:
    with fuzz.requests() as request:
        yield request


@pytest.mark.parametrize("number", sorted({*fuzz.KEPT, *range(40)}))
def test_it_works_or_ends_in_a_sentence(request_of: fuzz.Input, number: int) -> None:
    fuzz.check(number, request_of)


def test_an_input_is_the_same_every_time() -> None:
    twice = [fuzz.broken(np.random.default_rng([fuzz.SEED, 5]), fuzz.TABLE) for _ in range(2)]
    assert twice[0] == twice[1] != fuzz.TABLE
