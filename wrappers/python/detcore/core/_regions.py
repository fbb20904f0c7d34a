"""Times the named phases of a program."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import byref
from typing import Any

from detcore import _abi
from detcore._capi import call, library, new_error, required
from detcore.errors import from_c


class Region(contextlib.ContextDecorator):
    """A phase of the program: `with region:`, or a decorator of a function.

    Any number of threads may be in it at the same time.
    """

    def __init__(self, view: int, name: str) -> None:
        number = ctypes.c_int32()
        call("det_train_name_region", view, required(name, "the name of a region"), byref(number))
        # The name is converted once.
        self._arguments = ctypes.c_void_p.from_param(view), number
        self._begin = library.unconverted("det_train_begin_region")
        self._end = library.unconverted("det_train_end_region")

    def __enter__(self) -> Region:
        if self._begin(*self._arguments, None) != _abi.DET_OK:
            self._fail(self._begin)
        return self

    def __exit__(self, failed: Any, *_: object) -> None:
        # If the phase failed, the caller should get that exception.
        if self._end(*self._arguments, None) != _abi.DET_OK and failed is None:
            self._fail(self._end)

    def _fail(self, function: Any) -> None:
        argument, error = new_error()
        if function(*self._arguments, argument) != _abi.DET_OK:
            raise from_c(error)
