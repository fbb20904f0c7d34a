"""What people do to experiments and trials while they run."""

from __future__ import annotations

import time
from typing import Any

from detcore import _abi
from detcore.client._record import Record
from detcore.errors import DetTimeoutError


class Steered(Record):
    _target = ""

    def pause(self) -> None:
        """Asks running processes to save a checkpoint and leave; they can go on later."""
        self._control("PAUSE")

    def activate(self) -> None:
        """Lets what is paused go on."""
        self._control("ACTIVATE")

    def cancel(self) -> None:
        """Asks running processes to save a checkpoint and leave, for good."""
        self._control("CANCEL")

    def kill(self) -> None:
        """Ends running processes at once."""
        self._control("KILL")

    def _control(self, action: str) -> dict[str, Any]:
        target = getattr(_abi, f"DET_CLIENT_TARGET_{self._target}")
        wanted = getattr(_abi, f"DET_CLIENT_ACTION_{action}")
        identity = self._entry["id"]
        answer = self._client._connection.ask("det_client_control", target, identity, wanted)
        self._entry["state"] = answer["state"]
        return answer  # type: ignore[no-any-return]

    def _look(self) -> None:
        """Reads its state again."""
        self.reload()

    def wait(self, interval: float = 5.0, timeout: float | None = None) -> Any:
        """Until it is over; gives the state. A look each `interval` seconds."""
        if not interval > 0:
            raise ValueError(f"interval must be a number of seconds above 0, not {interval!r}")
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            self._look()
            state = self.state  # type: ignore[attr-defined]
            if state.is_terminal:
                return state
            left = interval if end is None else end - time.monotonic()
            if left <= 0:
                raise DetTimeoutError(
                    f"waiting for {self!r}: it is not over after {timeout} seconds",
                    code=_abi.DET_E_TIMEOUT,
                )
            time.sleep(min(interval, left))
