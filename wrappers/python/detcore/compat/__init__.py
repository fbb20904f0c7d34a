"""Runs scripts written for `determined` on detcore, unchanged.

Use `import detcore.compat` before the first `import determined`, or run
`python -m detcore.compat script.py`. Then `import determined as det`, `from determined import core`
and the other modules of MODULES are detcore. A part that detcore does not cover raises an
ImportError that names it.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MODULES", "install", "install_in_children"]

#: Modules of Determined, and their modules in this package.
MODULES = {
    "determined": "detcore.compat._determined",
    "determined.common": "detcore.compat._common",
    "determined.common.api": "detcore.compat._api",
    "determined.common.api.errors": "detcore.compat._errors",
    "determined.core": "detcore.core",
    "determined.errors": "detcore.compat._errors",
    "determined.estimator": "detcore.estimator",
    "determined.experimental": "detcore.compat._experimental",
    "determined.experimental.client": "detcore.compat._client",
    "determined.experimental.estimator": "detcore.estimator",
    "determined.keras": "detcore.keras",
    "determined.keras.callbacks": "detcore.keras.callbacks",
    "determined.launch": "detcore.compat.launch",
    "determined.launch.horovod": "detcore.compat.launch.horovod",
    "determined.searcher": "detcore.search",
}


class _Alias(Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        return None  # a new module, which is replaced below

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        try:
            real = importlib.import_module(MODULES[name])
        except BaseException:
            sys.modules.pop(name, None)
            raise
        sys.modules[name] = real


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] != "determined":
            return None
        if name not in MODULES:
            raise ImportError(
                f"{name} is not covered by detcore, which stands in for determined here; covered "
                f"are {', '.join(sorted(MODULES))}",
                name=name,
            )
        return ModuleSpec(name, _Alias(), is_package=True)


def install() -> None:
    """Makes `import determined` mean detcore in this process. A second call does nothing."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("determined")
    if loaded is not None:
        raise ImportError(
            f"determined is imported already, from {getattr(loaded, '__file__', 'elsewhere')}: "
            "import detcore.compat before it"
        )
    sys.meta_path.insert(0, _Finder())


def install_in_children() -> str:
    """Makes `import determined` mean detcore in processes that this one starts, too.

    It returns the folder with the `determined` that does so. Processes of multiprocessing find it
    if it is in the path of this process.
    """
    folder = str(Path(__file__).parent / "path")
    others = os.environ.get("PYTHONPATH")
    if others is None or folder not in others.split(os.pathsep):
        os.environ["PYTHONPATH"] = folder + (os.pathsep + others if others else "")
    return folder


def missing(module: str, names: Sequence[str]) -> Callable[[str], Any]:
    """Returns a module's __getattr__ that names missing parts."""

    def find(name: str) -> Any:
        if f"{module}.{name}" in MODULES:
            return importlib.import_module(f"{module}.{name}")
        raise AttributeError(
            f"{module}.{name} is not covered by detcore, which stands in for determined here; "
            f"covered are {', '.join(sorted(names))}"
        )

    return find


install()
