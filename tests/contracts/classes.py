"""Finding every class of a package, so that a new part can not slip past its contract."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType


def classes_of(package: ModuleType) -> list[type]:
    """Every public class that a module of the package, or of one inside it, defines itself."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    modules = [importlib.import_module(module.name) for module in found]
    return [
        cls
        for module in modules
        for name, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__ and not name.startswith("_")
    ]
