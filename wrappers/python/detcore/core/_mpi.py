"""Joins the ranks of a communicator of mpi4py, through libdetcore-mpi."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._capi import library
from detcore._interruptible import stay_on_this_thread
from detcore.errors import UnsupportedError, from_c

if TYPE_CHECKING:
    from collections.abc import Callable

SONAME = "libdetcore-mpi.so.0"


def joining(comm: Any) -> Callable[[], int]:
    """Returns a function that joins the ranks of a communicator and gives the address of the
    handle."""
    try:
        from mpi4py import MPI
    except ImportError as failure:
        raise _unsupported(f"mpi4py cannot be imported ({failure}): install it") from failure
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm must be a communicator of mpi4py, not {type(comm).__name__}")
    loaded = _load()
    _check_same(loaded, MPI)
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        stay_on_this_thread()
    function = loaded.det_distributed_from_mpi
    # The handle is a pointer in Open MPI, and a number in MPICH.
    is_pointer = MPI._sizeof(MPI.Comm) == ctypes.sizeof(ctypes.c_void_p)
    function.argtypes = [
        ctypes.c_void_p if is_pointer else ctypes.c_int,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(_abi.det_error),
    ]

    def join() -> int:
        out = ctypes.c_void_p()
        error = _abi.det_error(struct_size=ctypes.sizeof(_abi.det_error))
        if function(MPI._handleof(comm), byref(out), byref(error)) < 0:
            raise from_c(error)
        return out.value or 0

    return join


def _load() -> Any:
    beside = os.path.join(os.path.dirname(library.path), SONAME)
    try:
        # MPI finds its parts among the global symbols.
        return ctypes.CDLL(beside if os.path.exists(beside) else SONAME, ctypes.RTLD_GLOBAL)
    except OSError as failure:
        raise _unsupported(
            f"{SONAME} cannot be loaded ({failure}): install it beside libdetcore, built with the "
            "MPI of mpi4py"
        ) from failure


def _check_same(loaded: Any, mpi: Any) -> None:
    theirs = ctypes.CDLL(mpi.__file__).MPI_Get_library_version
    ours = loaded.MPI_Get_library_version
    if ctypes.cast(theirs, ctypes.c_void_p).value == ctypes.cast(ours, ctypes.c_void_p).value:
        return
    raise _unsupported(
        f"mpi4py was built with another MPI ({_version_by(theirs)}) than {SONAME} "
        f"({_version_by(ours)}): rebuild one of them with the other's, as by "
        "`pip install --no-binary mpi4py mpi4py`"
    )


def _version_by(function: Any) -> str:
    text = ctypes.create_string_buffer(8192)  # MPI_MAX_LIBRARY_VERSION_STRING of any MPI
    function(text, byref(ctypes.c_int()))
    return text.value.decode("utf-8", "replace").splitlines()[0].strip()


def _unsupported(why: str) -> UnsupportedError:
    return UnsupportedError(f"joining a job over MPI: {why}", code=_abi.DET_E_UNSUPPORTED)
