"""Keeps a search on disk: the state after the last event, and the operations that answer it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from detcore import _abi
from detcore._json import encode
from detcore.errors import BusyError, CorruptError

_CURRENT = "current.json"
_RUNNER = "runner.json"


class StateDirectory:
    """The directory of a search. Each state is a separate directory in it.

    current.json names the current state, and is replaced at once. So a reader always gets one whole
    state, also after a kill or a power cut.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the directory for one runner. The lock ends with the process."""
        with open(self.path / "lock", "a", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BusyError(
                    f"opening the search in '{self.path}': another program runs it; wait for its "
                    "end, or give this one another directory",
                    code=_abi.DET_E_BUSY,
                    retryable=True,
                ) from None
            yield

    def read(self) -> tuple[dict[str, Any], pathlib.Path] | None:
        """Returns the last state of save(), and the directory of the method. None for a new
        search."""
        current = self.path / _CURRENT
        if not current.exists():
            return None
        try:
            place = self.path / self.read_json(_CURRENT)["state"]
        except (KeyError, TypeError) as failure:
            raise self.damaged(str(current)) from failure
        return self.read_json(f"{place.name}/{_RUNNER}"), place

    def read_json(self, name: str) -> Any:
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError as failure:
            raise self.damaged(f"{failure.filename} is missing; the state") from failure
        except ValueError as failure:
            raise self.damaged(str(self.path / name)) from failure

    def damaged(self, what: str) -> CorruptError:
        return CorruptError(
            f"reading the search in '{self.path}': {what} is not what was written; take another "
            "directory for another search",
            code=_abi.DET_E_CORRUPT,
        )

    def save(self, runner: dict[str, Any], save_method: Callable[[pathlib.Path], None]) -> None:
        place = self.path / f"state-{uuid.uuid4().hex}"
        place.mkdir()
        try:
            save_method(place)
            (place / _RUNNER).write_bytes(encode(runner, "the state of a search"))
            _sync_all(place)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        self.write(_CURRENT, {"state": place.name})
        for old in self.path.glob("state-*"):
            if old != place:
                shutil.rmtree(old, ignore_errors=True)

    def write(self, name: str, value: Any) -> pathlib.Path:
        """Writes a file so that it is complete, or stays as it was before."""
        new = self.path / f".{name}.new"
        new.write_bytes(encode(value, name))
        _sync(new)
        os.replace(new, self.path / name)
        _sync(self.path)
        return self.path / name


def _sync_all(place: pathlib.Path) -> None:
    for path in [*place.rglob("*"), place]:
        if not path.is_symlink():
            _sync(path)


def _sync(path: pathlib.Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
