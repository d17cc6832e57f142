"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

gc.disable()  # until all tests are collected: what is made meanwhile stays

# Several tests run side by side: BLAS threads that wait for each other on busy cores are many times slower
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Where memory has room nothing waits for the disk: no test cuts the power, and what a killed process wrote is there
MEMORY, ROOM = "/dev/shm", 2 * 10**9  # bytes; all that a run writes is a twentieth of it
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("TMPDIR", MEMORY)
    tempfile.tempdir = None  # pytest has looked for a place already

import sqlalchemy as sa  # noqa: E402 - after the variables, which NumPy reads once
from hypothesis import settings  # noqa: E402
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite  # noqa: E402

# Thousands of small databases: a statement is compiled once for all of them in a process, not once for each
COMPILED: sa.util.LRUCache[object, object] = sa.util.LRUCache(2_000)
sa.Engine._compiled_cache = property(lambda _: COMPILED, lambda *_: None)  # type: ignore[assignment]
SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]

# The same examples on every run and machine; a slow machine is no failure. `make torture` takes more of them.
settings.register_profile("shortlist", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("torture", deadline=None, derandomize=True, max_examples=400)
settings.load_profile("shortlist")


def pytest_collection_finish() -> None:
    """What was imported and collected is not looked through again each time that Python looks for garbage."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000)  # Python looks for garbage after 700 objects: a tenth of all that a run computes
