"""Records what happens to a trial, as the runs of tests/data/trials were recorded."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from detcore import InvalidHP
from detcore.trial import Workload, WorkloadKind

KINDS = {
    "T": WorkloadKind.RUN_STEP,
    "V": WorkloadKind.COMPUTE_VALIDATION_METRICS,
    "C": WorkloadKind.CHECKPOINT_MODEL,
}


class Recorder(Protocol):
    """The events of one phase of a run."""

    #: By the storage ids.
    checkpoints: dict[str, str]

    def add(self, *event: Any) -> None: ...


class Workloads:
    """Those of a run, one after another."""

    def __init__(self, recorder: Recorder, phase: dict[str, Any]) -> None:
        self._recorder = recorder
        self._left = list(phase["workloads"])
        self._total = phase.get("steps_completed", 0)
        self._stop_on_request = phase.get("stop_on_request", False)
        self._kind = ""

    def next(self) -> Workload | None:
        if not self._left:
            self._recorder.add("workloads_end")
            return None
        kind, *number = self._left.pop(0)
        self._kind = kind
        self._recorder.add("workload", kind, *number)
        workload = Workload(KINDS[kind], number[0] if number else 0, self._total)
        self._total += workload.num_batches
        return workload

    def respond(self, response: Any) -> None:
        if isinstance(response, InvalidHP):
            response = {"marker": "InvalidHP"}
        elif "uuid" in response:
            response = {"uuid": self._recorder.checkpoints[response["uuid"]]}
        self._recorder.add("response", self._kind, response)
        stop = isinstance(response, dict) and response.get("stop_requested")
        if stop and self._stop_on_request:
            self._recorder.add("driver", "stop")
            self._left = []
            self.next = lambda: None  # type: ignore[method-assign]

    def state(self) -> dict[str, int]:
        return {}

    def load_state(self, state: dict[str, int]) -> None:
        raise AssertionError("it has none")


class RecordingCheckpoints:
    """The checkpoints of a run, by names of the recording."""

    def __init__(self, recorder: Recorder, real: Any, files: dict[str, list[str]]) -> None:
        self._recorder, self._real, self._files = recorder, real, files

    @contextlib.contextmanager
    def store_path(self, metadata: dict[str, Any]) -> Iterator[Any]:
        self._recorder.add("core", "checkpoint.store_path begin", metadata)
        with self._real.store_path(metadata) as (path, storage_id):
            names = self._recorder.checkpoints
            names[storage_id] = f"ckpt-{len(names) + 1}"
            yield path, storage_id
            written = [str(p.relative_to(path)) for p in path.rglob("*") if p.is_file()]
            self._files[names[storage_id]] = [*written, "metadata.json"]  # of the store
        self._recorder.add("core", "checkpoint.store_path end", names[storage_id])

    @contextlib.contextmanager
    def restore_path(self, storage_id: str) -> Iterator[Any]:
        name = self._recorder.checkpoints[storage_id]
        self._recorder.add("core", "checkpoint.restore_path begin", name)
        with self._real.restore_path(storage_id) as path:
            yield path
        self._recorder.add("core", "checkpoint.restore_path end")


def differences(ours: Any, theirs: Any, at: str = "") -> list[str]:
    """What the recording has that ours has not, or otherwise."""
    if theirs == "<racy>":  # as the original itself was
        return []
    if isinstance(theirs, dict) and "ndarray" in theirs:
        if list(np.shape(ours)) != theirs["ndarray"]:
            return [f"{at}: shape {np.shape(ours)}, not {theirs['ndarray']}"]
        if "v" in theirs:
            return differences(np.ravel(ours).tolist(), theirs["v"], at)
        together = np.sum(ours, dtype=np.float64), np.sum(np.abs(ours), dtype=np.float64)
        near = np.allclose(together, (theirs["sum"], theirs["abs_sum"]), atol=1e-6 * np.size(ours))
        return [] if near else [f"{at}: sums {together}, not {theirs}"]
    if isinstance(theirs, dict):
        if not isinstance(ours, dict):
            return [f"{at}: {ours!r}, not {theirs}"]
        missing = theirs.keys() - ours.keys()
        found = [f"{at}: lacks {sorted(missing)}"] if missing else []
        for key in theirs.keys() & ours.keys():
            found += differences(ours[key], theirs[key], f"{at}.{key}")
        return found
    if isinstance(theirs, list):
        ours = list(ours) if isinstance(ours, (list, tuple, np.ndarray)) else ours
        if not isinstance(ours, list) or len(ours) != len(theirs):
            return [f"{at}: {ours!r:.300}, not {theirs!r:.300}"]
        pairs = enumerate(zip(ours, theirs))
        return [line for n, (o, t) in pairs for line in differences(o, t, f"{at}[{n}]")]
    if isinstance(theirs, str) and theirs in ("NaN", "Infinity", "-Infinity"):
        theirs = float(theirs)
    if isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
        same = isinstance(ours, (int, float, np.number)) and (
            math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=3e-7)
            or (math.isnan(ours) and math.isnan(theirs))
        )
        return [] if same else [f"{at}: {ours!r}, not {theirs!r}"]
    return [] if ours == theirs else [f"{at}: {ours!r:.300}, not {theirs!r:.300}"]
