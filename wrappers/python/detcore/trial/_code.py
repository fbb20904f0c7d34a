"""The author's code, kept with what it trained."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathlib


def copy(target: pathlib.Path) -> None:
    """Of the directory that the trial runs in, without what Python compiled, what is hidden, and
    links that lead nowhere; of others what they lead to."""
    source = os.getcwd()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        source,
        target,
        ignore=shutil.ignore_patterns("__pycache__", ".*"),
        ignore_dangling_symlinks=True,
    )
    target.chmod(0o755)
