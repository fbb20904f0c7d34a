"""Brings TensorBoard files to storage that the library does not keep.

They are all files of the manual mode, and the files of all ranks except the chief.
"""

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
    """A WorkloadSource around another. It uploads the files of a workload before the workload is
    answered.

    Only the chief's event files are uploaded, because only the chief reports metrics.
    """

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
