"""Owns handles of the library, and releases them."""

from __future__ import annotations

import os
import sys

from detcore._capi import library


class Owned:
    """A handle of the library. It is released when nobody holds this object any more.

    A call that continues without a waiting caller is a holder, too.
    """

    def __init__(self, address: int, free: str, *alive: object) -> None:
        self.address: int = address
        self._free = free
        self._alive = alive  # objects that the library still needs
        self._process = os.getpid()

    def is_of_this_process(self) -> bool:
        """Returns True if the handle should be released here.

        A forked child does not release it. At the end of the interpreter the library closes by
        itself, because it then knows the exit status.
        """
        return self._process == os.getpid() and not sys.is_finalizing()

    def release(self) -> None:
        """Releases the handle now, not when nobody holds this object any more."""
        address, self.address = self.address, 0
        if address and self.is_of_this_process():
            getattr(library, self._free)(address)
        self._alive = ()

    def __del__(self) -> None:
        self.release()
