"""The user study: 20 images, 4 to 32 options."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.costs import Seconds

OPTIONS = np.array([4, 8, 16, 32])
TOTAL = np.array([69.4, 91.5, 116.9, 166.9])  # seconds for 20 images


def test_total_times_correlate_with_log2_of_the_options() -> None:
    assert np.corrcoef(np.log2(OPTIONS), TOTAL)[0, 1] == pytest.approx(0.979, abs=0.001)


def test_seconds_fitted_to_the_time_of_one_image() -> None:
    fitted = Seconds.fit(OPTIONS, TOTAL / 20)
    slope, start = np.polyfit(np.log2(OPTIONS), TOTAL / 20, 1)
    assert fitted.b == pytest.approx(slope)
    assert fitted.a == pytest.approx(start)
    assert fitted(OPTIONS) == pytest.approx(TOTAL / 20, abs=0.75)
    assert np.corrcoef(fitted(OPTIONS), TOTAL)[0, 1] == pytest.approx(0.979, abs=0.001)


def test_the_defaults_are_the_study() -> None:
    fitted = Seconds.fit(OPTIONS, TOTAL / 20)
    assert Seconds().a == pytest.approx(fitted.a, abs=0.01)
    assert Seconds().b == pytest.approx(fitted.b, abs=0.01)
