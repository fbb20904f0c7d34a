"""A checkpoint, as the store or the master knows it."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from detcore.client._record import Fact, Record, time
from detcore.client._states import CheckpointState

if TYPE_CHECKING:
    import datetime

    from detcore.client._trial import Trial
    from detcore.storage import Storage


class Checkpoint(Record):
    _identity = "uuid"

    uuid: Fact[str] = Fact("uuid")
    trial_id: Fact[int] = Fact("trial_id")
    trial_run_id: Fact[int | None] = Fact("trial_run_id")
    steps_completed: Fact[int] = Fact("steps_completed")
    state: Fact[CheckpointState] = Fact("state", CheckpointState)
    report_time: Fact[datetime.datetime | None] = Fact("time", time)
    size: Fact[int] = Fact("size", doc="Bytes of all its files.")
    metadata: Fact[dict[str, Any]] = Fact("metadata")
    resources: Fact[dict[str, int]] = Fact("resources", doc="Bytes by path; directories end in /.")
    pinned: Fact[bool | None] = Fact("pinned", doc="None over HTTP.")
    storage: Fact[dict[str, Any]] = Fact(
        "storage", doc="As `checkpoint_storage` of a configuration, without what is secret of it."
    )

    def _read(self) -> dict[str, Any]:
        return self._client._ask_about("det_client_get_checkpoint", self._entry["uuid"])

    def get_trial(self) -> Trial:
        return self._client.get_trial(self.trial_id)

    def validation(self, name: str) -> float | None:
        """The validation metric that was reported at its step, None where there is none."""
        return validations([self], name)[0]

    @property
    def searcher_metric(self) -> float | None:
        """The validation by `searcher.metric` at its step."""
        name = self.get_trial().get_experiment().searcher_metric
        return None if name is None else self.validation(name)

    @property
    def directory(self) -> pathlib.Path | None:
        """Where its files are; None where that is no file system that this machine has."""
        storage = self.storage
        kind = storage.get("type")
        if kind == "directory":
            root = pathlib.Path(storage["container_path"])
        elif kind == "shared_fs":
            root = pathlib.Path(storage["host_path"], storage.get("storage_path") or "")
        else:
            return None
        return root / self.uuid

    def download(self, path: str | os.PathLike[str] | None = None, mode: Any = None) -> str:
        """Copies its files into a directory, by default checkpoints/UUID; returns the directory.
        What is there before stays; they are compared with what was stored. They come from storage
        itself: `mode`, which could ask for another way in determined, has no effect."""
        target = pathlib.Path(path) if path is not None else pathlib.Path("checkpoints", self.uuid)
        self._open_storage().download(self.uuid, target)
        return str(target)

    def verify(self) -> None:
        """Compares its files with what was stored; a CorruptError names one that differs."""
        self._open_storage().verify(self.uuid)

    def _open_storage(self) -> Storage:
        """With the credentials that the store or the master has for it."""
        from detcore.storage import Storage

        return Storage._given(self._client._open_storage(self.uuid))

    def delete(self) -> None:
        """Deletes its files; from then on nothing starts from it."""
        self._client._ask_about("det_client_delete_checkpoint", self.uuid)
        self.reload()

    def pin(self) -> None:
        """Keeps it until unpin(): nothing collects it, and delete() refuses."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 1)
        self.reload()

    def unpin(self) -> None:
        """Ends pin()."""
        self._client._ask_about("det_client_pin_checkpoint", self.uuid, 0)
        self.reload()

    def write_metadata_file(self, path: str | os.PathLike[str]) -> None:
        """Writes its metadata as JSON."""
        pathlib.Path(path).write_text(json.dumps(self.metadata, indent=2) + "\n", encoding="utf-8")


def validations(checkpoints: Iterable[Checkpoint], name: str) -> list[float | None]:
    """Of each the validation at its step. The metrics of a trial are read once."""
    by_trial: dict[int, dict[int, float]] = {}
    found: list[float | None] = []
    for checkpoint in checkpoints:
        trial_id = checkpoint.trial_id
        if trial_id not in by_trial:
            series = checkpoint._client.get_metrics(trial_id, name, "validation")
            by_trial[trial_id] = {
                int(step): float(value)
                for step, value in zip(series.steps_completed, series.values)
            }
        found.append(by_trial[trial_id].get(checkpoint.steps_completed))
    return found
