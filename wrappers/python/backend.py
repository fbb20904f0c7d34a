"""Builds the package by meson-python, for pip.

Always in the root of the clone, where Meson wants to be, also for `pip install wrappers/python`;
and one wheel for every Python, as no file in it knows of one.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

root = Path(__file__).resolve().parents[2]
if not (root / "meson.build").exists():
    sys.exit(
        f"{root} has no meson.build: wrappers/python is built in a clone, by pip 21.3 or newer"
    )
os.chdir(root)

import mesonpy  # noqa: E402 looks around where it is imported

get_requires_for_build_sdist = mesonpy.get_requires_for_build_sdist
get_requires_for_build_wheel = mesonpy.get_requires_for_build_wheel
build_sdist = mesonpy.build_sdist


def build_wheel(
    folder: str, settings: Optional[dict[str, Any]] = None, metadata: Optional[str] = None
) -> str:
    made = mesonpy.build_wheel(folder, settings, metadata)
    retag = ["-m", "wheel", "tags", "--remove", "--python-tag=py3", "--abi-tag=none"]
    command = [sys.executable, *retag, os.path.join(folder, made)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
