"""TensorBoard files that nobody brings to storage but the trial layer: all of the manual mode, and
those of ranks other than the chief."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from detcore.core._train import rank_aware_name

if TYPE_CHECKING:
    import pathlib

    from detcore.core import Context
    from detcore.errors import InvalidHP
    from detcore.trial._workloads import Workload, WorkloadSource

_EVENTS = "*tfevents*"


class Uploads:
    """A WorkloadSource around another: what a workload wrote is in storage before it is answered.
    Event files are the chief's alone, as metrics are."""

    def __init__(self, workloads: WorkloadSource, core: Context) -> None:
        self._workloads = workloads
        self._train = core.train
        self._is_chief = core.distributed.rank == 0

    def upload(self) -> None:
        self._train.upload_tensorboard_files(self._is_kept, rank_aware_name)

    def next(self) -> Workload | None:
        return self._workloads.next()

    def respond(self, response: dict[str, Any] | InvalidHP) -> None:
        self.upload()
        self._workloads.respond(response)

    def state(self) -> dict[str, int]:
        return self._workloads.state()

    def load_state(self, state: dict[str, int]) -> None:
        self._workloads.load_state(state)

    def _is_kept(self, path: pathlib.Path) -> bool:
        return self._is_chief or not fnmatch.fnmatch(path.name, _EVENTS)
