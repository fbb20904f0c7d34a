"""A library that is missing, is not one, is too old or is for another machine."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE, ROOT
from detcore import _abi, errors

PACKAGE = ROOT / "wrappers/python/detcore"
BACKEND = ROOT / "wrappers/python/backend.py"
EM_AARCH64 = 183
PROGRAM = """
try:
    from detcore import core
except ImportError as error:
    print(type(error).__name__, error)
else:
    print("loaded")
"""


def load(library: str | None, package: Path = PACKAGE) -> str:
    """What `from detcore import core` says of that library, or of that in the package."""
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    if library is None:
        del environment["DETCORE_LIBRARY"]
    else:
        environment["DETCORE_LIBRARY"] = library
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def compiled(folder: Path, text: str) -> str:
    library = folder / "libother.so"
    source = folder / "other.c"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-o", library, source], check=True)
    return str(library)


def test_missing(tmp_path: Path) -> None:
    said = load(str(tmp_path / "libdetcore.so.0"))
    assert said.startswith(f"LibraryError cannot load {tmp_path}/libdetcore.so.0: ")
    assert "No such file" in said and "DETCORE_LIBRARY" in said and "pip" in said


def test_not_a_library(tmp_path: Path) -> None:
    text = tmp_path / "libdetcore.so.0"
    text.write_text("not one")
    assert "cannot load" in load(str(text)) and "install detcore" in load(str(text))


def test_another_library(tmp_path: Path) -> None:
    library = compiled(tmp_path, "int other(void) { return 0; }")
    said = load(library)
    assert f"{library} is not libdetcore: it has no det_version()" in said
    assert "DETCORE_LIBRARY" in said


def test_too_old(tmp_path: Path) -> None:
    library = compiled(tmp_path, "int det_version(void) { return 1; }")
    said = load(library)
    assert f"{library} has version 0.0.1, and this package needs 0.1.0 or newer" in said


def test_for_another_machine(tmp_path: Path) -> None:
    library = tmp_path / "libdetcore.so.0"
    content = bytearray(Path(os.environ["DETCORE_LIBRARY"]).read_bytes())
    content[18:20] = struct.pack("<H", EM_AARCH64)  # e_machine
    library.write_bytes(content)
    said = load(str(library))
    assert f"cannot load {library}" in said
    assert f"built for this machine ({os.uname().machine}, 64 bits)" in said


def test_messages_name_functions_as_python_does() -> None:
    sources = [path for room in ("capi", "core") for path in (ROOT / room).rglob("*.cc")]
    texts = [text for path in sources for text in re.findall(r'"[^"\n]*"', path.read_text())]
    found = {name for text in texts for name in re.findall(r"\bdet_[a-z_]+", text)}
    of_c = {name for name in found if name in _abi.PROTOTYPES or hasattr(_abi, name)}
    # What is looked for in a library, and what programs in C alone can do wrong.
    of_c -= {"det_storage_open", "det_core_options", "det_progress", "det_storage"}
    assert {name for name in of_c if not name.endswith("_options")} <= errors.IN_PYTHON.keys()
    said = (
        "give det_core_options.distributed; det_checkpoint_download('1') is none of det_core_init()"
    )
    expected = "give distributed of core.init(); checkpoint.download('1') is none of core.init()"
    assert errors.in_python(said) == expected


def test_pip_gets_the_metadata_without_a_build() -> None:
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--dry-run"]
    command = [sys.executable, "-m", "pip", "install", *options, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert "Would install detcore-0.1.0" in done.stdout, done.stdout + done.stderr


def test_what_a_build_lacks_is_told_at_once(tmp_path: Path) -> None:
    program = f"import sys; sys.path[:0] = [{str(BACKEND.parent)!r}]; import backend; "
    command = [sys.executable, "-c", program + f"backend.build_wheel({str(tmp_path)!r})"]

    def told(**changes: str) -> str:
        environment = os.environ | {"PATH": str(tmp_path)} | changes
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 1
        return done.stdout

    nothing = "detcore: nothing is compiled: missing are c++ (Debian: g++, Fedora: gcc-c++); cc ("
    assert told().startswith(nothing)
    libraries = tmp_path / "pkg-config"
    libraries.write_text("#!/bin/sh\ncase $2 in *curl*) exit 1 ;; esac\n")
    libraries.chmod(0o755)
    missing = told(CXX=f"{sys.executable} -O2", CC=sys.executable)
    assert missing.endswith(
        "missing are libcurl >= 7.76 (Debian: libcurl4-openssl-dev, Fedora: libcurl-devel)\n"
    )


def test_an_older_python_is_told_which_one_is_needed() -> None:
    told = "needs Python 3.9 or newer, and"
    for program in ("import detcore", f"import runpy; runpy.run_path({str(BACKEND)!r})"):
        older = f"import sys; sys.version_info = (3, 8, 20); {program}"
        done = subprocess.run([sys.executable, "-c", older], capture_output=True, text=True)
        assert done.returncode == 1
        last = done.stderr.strip().rpartition("\n")[2]
        assert told in last and "is 3.8" in last


def test_the_library_in_the_package_is_taken_first(tmp_path: Path) -> None:
    package = tmp_path / "detcore"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "lib").mkdir()
    shutil.copy(os.environ["DETCORE_LIBRARY"], package / "lib/libdetcore.so.0")
    assert load(None, package) == "loaded"
    (package / "lib/libdetcore.so.0").write_text("broken")
    assert f"cannot load {package}/lib/libdetcore.so.0" in load(None, package)
