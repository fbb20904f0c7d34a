"""The directory in which TensorFlow keeps the model of a trial during training."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING

from detcore.trial import CheckFailedError
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Iterator

_v1 = tf.compat.v1
_STATE = "checkpoint"
_GRAPH = "graph.pbtxt"
_EVENTS = "*tfevents*"


class ModelDirectory:
    """A temporary directory of this process. Checkpoints have the newest state of the model from
    it."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="estimator-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def has_model(self) -> bool:
        return (self.path / _STATE).exists()

    def save_to(self, folder: pathlib.Path) -> None:
        _copy(self.path, folder)

    def load_from(self, folder: pathlib.Path) -> None:
        """Copies a model from a checkpoint. CheckFailedError if it is missing or incomplete."""
        _copy(folder, self.path)

    def keep_newest(self) -> None:
        newest = _newest(self.path)
        for path in self.path.glob("*.ckpt-*"):
            if path.name.rpartition(".")[0] != newest:
                path.unlink()
        _write_state(self.path, newest)

    def move_events(self, target: pathlib.Path) -> None:
        """Moves event files to the directory where TensorBoard files belong.

        TensorFlow continues in new files, which may have the same names.
        """
        _v1.summary.FileWriterCache.get(str(self.path)).flush()
        for path in list(self.path.rglob(_EVENTS)):
            moved = target / path.relative_to(self.path)
            moved.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(str(path), _unused(moved))

    def remove(self) -> None:
        _v1.summary.FileWriterCache.clear()
        self._remove()


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    newest = _newest(source)
    for path in _files(source, newest):
        shutil.copyfile(path, target / path.name)
    _write_state(target, newest)


def _files(folder: pathlib.Path, newest: str) -> Iterator[pathlib.Path]:
    for path in folder.iterdir():
        if path.name == _GRAPH or path.name.rpartition(".")[0] == newest:
            yield path


def _newest(folder: pathlib.Path) -> str:
    """Returns the name with which the files of the model begin."""
    state = tf.train.get_checkpoint_state(str(folder))
    if state is None:
        raise CheckFailedError(f"{folder} has no model of an estimator: it lacks {_STATE!r}")
    # The directory may have moved since the file was written.
    newest = pathlib.PurePath(state.model_checkpoint_path).name
    if not (folder / f"{newest}.index").exists():
        raise CheckFailedError(
            f"{folder} lacks {newest}, which {_STATE!r} calls its model: get the whole checkpoint"
        )
    return newest


def _write_state(folder: pathlib.Path, newest: str) -> None:
    names = ("model_checkpoint_path", "all_model_checkpoint_paths")
    (folder / _STATE).write_text("".join(f'{name}: "{newest}"\n' for name in names))


def _unused(path: pathlib.Path) -> str:
    number, unused = 0, path
    while unused.exists():
        number += 1
        unused = path.with_name(f"{path.name}.{number}")
    return str(unused)
