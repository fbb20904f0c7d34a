"""Keeps the author's code in the checkpoints of its trial."""

from __future__ import annotations

import collections
import logging
import os
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

_log = logging.getLogger("detcore.trial")

#: The most code that a master takes with a model.
LIMIT_BYTES = 96 << 20
LIMIT_FILES = 10_000
#: The name of the code in each checkpoint of a trial.
LOAD_DATA = "load_data.json"

_MASK = "********"
_OF_STORAGE = frozenset(
    {"access_key", "secret_key", "session_token", "connection_string", "credential", "customer_key"}
)
_SECRETS: dict[tuple[str, ...], frozenset[str] | None] = {  # None: every text in it is a secret
    ("checkpoint_storage",): _OF_STORAGE,
    ("tensorboard_storage",): _OF_STORAGE,
    ("environment", "registry_auth"): frozenset(
        {"password", "auth", "identitytoken", "registrytoken"}
    ),
    ("data", "secrets"): None,
}


def without_secrets(config: Any) -> Any:
    """Returns a configuration that others may read. docs/object-stores.md lists what is masked."""
    return _masked(config, ())


def _masked(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {key: _masked(inner, (*path, key)) for key, inner in value.items()}
    if not isinstance(value, str) or not value:
        return value
    for section, keys in _SECRETS.items():
        inside = path[len(section) :]
        if path[: len(section)] == section and inside and (keys is None or inside[0] in keys):
            return _MASK
    return value


def copy(target: pathlib.Path) -> None:
    """Copies the directory in which the trial runs, with the targets of links.

    It leaves out checkpoints, compiled Python, hidden files, and anything that is not a readable
    file. If the rest is larger than code usually is, it copies the Python files only.
    """
    source = os.getcwd()
    if target.exists():
        shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o755)
    files, size = [], 0
    for file in _files(source, os.path.realpath(target)):
        files.append(file)
        size += os.path.getsize(file)
        if size > LIMIT_BYTES or len(files) > LIMIT_FILES:
            _log.warning(
                "the checkpoint keeps only the Python files of '%s', because it has more than "
                "%d MiB or %d files: keep data elsewhere",
                source,
                LIMIT_BYTES >> 20,
                LIMIT_FILES,
            )
            files = [file for file in files if file.endswith(".py")]
            break
    for file in files:
        copied = target / os.path.relpath(file, source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(file, copied)
        except OSError as failure:
            _log.warning("the checkpoint does not have '%s': %s", file, failure.strerror)


def _files(source: str, target: str) -> Iterator[str]:
    """Yields files near the top first. The trial is there, and data is usually deeper."""
    source_itself = os.path.realpath(source)
    directories = collections.deque([(source, frozenset[str]())])
    while directories:
        directory, above = directories.popleft()
        itself = os.path.realpath(directory)
        # Links may lead in circles, and up.
        holds_more = itself != source_itself and any(
            os.path.commonpath([itself, path]) == itself for path in (target, source_itself)
        )
        if itself in above or holds_more:
            continue
        try:
            with os.scandir(directory) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as failure:
            _log.warning("the checkpoint does not have '%s': %s", directory, failure.strerror)
            continue
        if itself != source_itself and any(entry.name == LOAD_DATA for entry in found):
            continue
        for entry in found:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.is_dir():
                directories.append((entry.path, above | {itself}))
            elif entry.is_file():
                yield entry.path
