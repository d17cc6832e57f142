"""Shortlist gets a classification dataset labelled for as little human effort as possible.

Every name in `__init__.pyi` is imported when it is first used, so `import shortlist` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """Public name -> the module it is defined in, as `__init__.pyi` says."""
    lines = Path(__file__).with_suffix(".pyi").read_text("utf-8").splitlines()
    return {line.split()[3]: line.split()[1] for line in lines if line.startswith("from shortlist")}


HOMES = _homes()
__all__ = [*HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*HOMES, "__version__"])
