"""Settings that every test shares."""

from __future__ import annotations

import os

# Several tests run side by side: BLAS threads that wait for each other on busy cores are many times slower
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402 - after the variables, which NumPy reads once

# The same examples on every run and machine; a slow machine is no failure.
settings.register_profile("shortlist", deadline=None, derandomize=True)
settings.load_profile("shortlist")
