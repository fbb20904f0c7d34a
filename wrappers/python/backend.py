"""Builds the package by meson-python, for pip.

Always in the root of the clone, where Meson wants to be, also for `pip install wrappers/python`;
and one wheel for every Python, as no file in it knows of one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info < (3, 9):  # noqa: UP036  which an older Python says in other words
    sys.exit(
        f"detcore needs Python 3.9 or newer, and {sys.executable} is "
        f"{sys.version_info[0]}.{sys.version_info[1]}"
    )

root = Path(__file__).resolve().parents[2]
if not (root / "meson.build").exists():
    sys.exit(
        f"{root} has no meson.build: wrappers/python is built in a clone, by pip 21.3 or newer"
    )
os.chdir(root)

_COMPILED = "compiling libdetcore, libdetcore-cloud and det, for some minutes of one processor"
#: What no wrap of Meson could download: the package of pkg-config, and where it is from.
_NEEDED = {
    "libcurl >= 7.76": "Debian: libcurl4-openssl-dev, Fedora: libcurl-devel",
    "libcrypto >= 3.0": "Debian: libssl-dev, Fedora: openssl-devel",
    "libssl >= 3.0": "Debian: libssl-dev, Fedora: openssl-devel",
}
_PROGRAMS = {
    "c++": "Debian: g++, Fedora: gcc-c++",
    "cc": "Debian: gcc, Fedora: gcc",
    "pkg-config": "Debian: pkg-config, Fedora: pkgconf",
}


def get_requires_for_build_sdist(settings: dict[str, Any] | None = None) -> list[str]:
    import mesonpy  # looks around where it is imported

    return mesonpy.get_requires_for_build_sdist(settings)  # type: ignore[no-any-return]


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    import mesonpy

    return mesonpy.get_requires_for_build_wheel(settings)  # type: ignore[no-any-return]


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    import mesonpy

    return mesonpy.build_sdist(folder, settings)  # type: ignore[no-any-return]


def prepare_metadata_for_build_wheel(folder: str, settings: dict[str, Any] | None = None) -> str:
    """Without which pip builds everything for them, and then again nothing for the wheel."""
    import mesonpy
    import packaging.version  # of meson-python
    import pyproject_metadata

    facts = mesonpy.tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    metadata = pyproject_metadata.StandardMetadata.from_pyproject(facts, root)
    metadata.version = packaging.version.Version(_version())
    place = Path(folder, f"detcore-{_version()}.dist-info")
    place.mkdir()
    (place / "METADATA").write_bytes(bytes(metadata.as_rfc822()))
    return place.name


def build_wheel(
    folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None
) -> str:
    missing = _missing()
    _tell(_COMPILED if not missing else f"nothing is compiled: missing are {'; '.join(missing)}")
    if missing:
        sys.exit(1)
    import mesonpy

    made = mesonpy.build_wheel(folder, settings, metadata)
    retag = ["-m", "wheel", "tags", "--remove", "--python-tag=py3", "--abi-tag=none"]
    command = [sys.executable, *retag, os.path.join(folder, made)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _version() -> str:
    found = re.search(r"^  version: '(.+?)'", (root / "meson.build").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _missing() -> list[str]:
    """All at once; Meson names the first."""
    chosen = {"c++": os.environ.get("CXX", "c++"), "cc": os.environ.get("CC", "cc")}
    found = {name: shutil.which(chosen.get(name, name).split()[0]) for name in _PROGRAMS}
    missing = [f"{name} ({hint})" for name, hint in _PROGRAMS.items() if found[name] is None]
    if found["pkg-config"] is None:
        return missing
    for package, hint in _NEEDED.items():
        if subprocess.run([found["pkg-config"], "--exists", package], check=False).returncode:
            missing.append(f"{package} ({hint})")
    return missing


def _tell(text: str) -> None:
    """Into the output, which pip shows where a build fails, and to the terminal."""
    print(f"detcore: {text}", flush=True)
    try:
        with open("/dev/tty", "w", encoding="utf-8") as terminal:
            print(f"\ndetcore: {text}", file=terminal)
    except OSError:
        pass  # there is none
