"""The code that a checkpoint of a trial keeps."""

from __future__ import annotations

import os
import pathlib
import socket

import pytest
from detcore.trial import _code


@pytest.fixture
def program(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The directory that it runs in."""
    folder = tmp_path / "program"
    (folder / "model" / "__pycache__").mkdir(parents=True)
    (folder / "model_def.py").write_text("one")
    (folder / "model" / "layers.py").write_text("two")
    (folder / "model" / "__pycache__" / "layers.pyc").write_text("compiled")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hidden")
    monkeypatch.chdir(folder)
    return folder


def kept(target: pathlib.Path) -> list[str]:
    _code.copy(target)
    return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())


def test_code_is_kept_and_replaced(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "code"
    target.mkdir(0o700)
    (target / "old").write_text("old")
    assert kept(target) == ["model/layers.py", "model_def.py"]
    assert (target / "model_def.py").read_text() == "one"
    assert target.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("place", ["stored/checkpoints", "."])
def test_checkpoints_in_the_directory_of_the_code_do_not_grow(
    program: pathlib.Path, place: str
) -> None:
    for number in range(3):
        checkpoint = program / place / f"checkpoint{number}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "weights").write_text("large")
        assert kept(checkpoint / "code") == ["model/layers.py", "model_def.py"]
        (checkpoint / "load_data.json").write_text("{}")


def test_links_are_followed_but_in_circles(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "shared.py").write_text("three")
    (program / "library").symlink_to("../library")
    (program / "again").symlink_to("model")
    (program / "model" / "circle").symlink_to("..")
    (program / "up").symlink_to("/")
    (program / "nowhere").symlink_to("absent")
    target = tmp_path / "code"
    files = ["again/layers.py", "library/shared.py", "model/layers.py", "model_def.py"]
    assert kept(target) == files
    assert not (target / "library").is_symlink()


def test_what_is_no_file_or_closed_is_left_out(
    program: pathlib.Path, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(program / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    (program / "gone").write_text("x")
    (program / "gone").chmod(0)
    (program / "closed").mkdir(0)
    assert "model_def.py" in kept(tmp_path / "code")
    if os.getuid() != 0:
        assert "gone" in caplog.text and "closed" in caplog.text
    assert not {"pipe", "socket"} & {path.name for path in (tmp_path / "code").iterdir()}


def test_of_much_only_python_files_are_kept(
    program: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with (program / "images").open("wb") as images:
        images.truncate(_code.LIMIT_BYTES)
    assert kept(tmp_path / "code") == ["model_def.py"]  # found first
    assert "96 MiB" in caplog.text
    (program / "images").unlink()
    (program / "notes").write_text("x")
    monkeypatch.setattr(_code, "LIMIT_FILES", 2)
    assert kept(tmp_path / "code") == ["model/layers.py", "model_def.py"]
