"""The handle of a job that this process is a rank of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from detcore._abi import DET_E_STATE
from detcore._capi import handle, library
from detcore._interruptible import interruptible
from detcore.core._memory import Messages, Part
from detcore.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable


class Job:
    """Released when nobody holds it any more: a context, a core, or a call that was interrupted and
    is still waiting."""

    def __init__(self, join: Callable[[], int]) -> None:
        self.address = 0
        self._was_interrupted = False
        self.address = interruptible(join, library.det_distributed_free)

    def number(self, name: str) -> int:
        number: int = getattr(library, "det_distributed_" + name)(self.address)
        return number

    def collective(self, name: str, part: Part | None) -> Messages:
        if self._was_interrupted:
            raise StateError(
                f"{name}(): an earlier collective was interrupted, and the ranks are no longer in "
                "step; leave, and start the job again",
                code=DET_E_STATE,
            )
        self._was_interrupted = True
        answer = interruptible(lambda: self._collective(name, part))
        self._was_interrupted = False
        return answer

    def _collective(self, name: str, part: Part | None) -> Messages:
        address, size = (part.address, part.size) if part is not None else (None, 0)
        return Messages(handle("det_distributed_" + name, self.address, address, size))

    def __del__(self) -> None:
        if self.address and not sys.is_finalizing():
            library.det_distributed_free(self.address)
