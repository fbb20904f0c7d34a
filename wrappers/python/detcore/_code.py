"""Modules of a program that was kept, or lies elsewhere."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


@contextlib.contextmanager
def import_from_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Within it modules are found in `path` first, also those whose names are imported already, as
    for code that was kept in a checkpoint. Behind it the names mean what they did before."""
    folder = Path(path).absolute()
    there = {entry.stem for entry in folder.iterdir() if entry.is_dir() or entry.suffix == ".py"}

    def hide() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] in there]
        return {name: sys.modules.pop(name) for name in names}

    before = hide()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        hide()
        sys.modules.update(before)
