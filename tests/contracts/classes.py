"""Finding every class of a package, so that a new part can not slip past its contract."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType


def classes_of(package: ModuleType) -> list[type]:
    """Every public class that a module of the package defines itself."""
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return [
        cls
        for module in modules
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and not name.startswith("_")
    ]
