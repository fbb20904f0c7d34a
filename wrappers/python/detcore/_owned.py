"""What the library gave, and wants back."""

from __future__ import annotations

import os
import sys

from detcore._capi import library


class Owned:
    """A handle of the library. It is released when nobody holds this any more, not even a call that
    goes on although nobody waits for it."""

    def __init__(self, address: int, free: str, *alive: object) -> None:
        self.address: int = address
        self._free = free
        self._alive = alive  # what the library still needs
        self._process = os.getpid()

    def is_of_this_process(self) -> bool:
        """Whether there is something to release: not in a forked child, and not at the end of the
        interpreter, where the library closes by itself, when it knows the exit status."""
        return self._process == os.getpid() and not sys.is_finalizing()

    def release(self) -> None:
        """Does what otherwise happens when nobody holds this any more."""
        address, self.address = self.address, 0
        if address and self.is_of_this_process():
            getattr(library, self._free)(address)
        self._alive = ()

    def __del__(self) -> None:
        self.release()
