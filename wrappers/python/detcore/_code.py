"""Imports modules of a program from a directory."""

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
    """Finds modules in `path` first, within its `with` block.

    It finds modules there even if modules of the same name are imported already. It is for code
    from a checkpoint. After the block all names have their earlier meaning.
    """
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
