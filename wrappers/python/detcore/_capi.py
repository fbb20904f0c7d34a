"""Loads libdetcore. It is the only module that does; all others are ordinary Python.

Each function of the library is an attribute of `library`, with its prototype. It is made at its
first use. Every call releases the interpreter while it runs.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import time
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from detcore import _abi
from detcore.errors import LibraryError, from_c

if TYPE_CHECKING:
    from pathlib import Path

_Struct = TypeVar("_Struct", bound=ctypes.Structure)

SONAME = "libdetcore.so.0"
VARIABLE = "DETCORE_LIBRARY"


class Library:
    """The functions of a loaded library, by name."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._loaded = loaded
        self.path: str = loaded._name

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._loaded, name)
        function.restype, function.argtypes = _abi.PROTOTYPES[name]
        setattr(self, name, function)
        return function

    def unconverted(self, name: str) -> Any:
        """Returns the function without its prototype. It takes arguments that are C's already, at
        half the cost."""
        function = self._loaded[name]
        function.restype = _abi.PROTOTYPES[name][0]
        return function


def _candidates() -> list[str]:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return [chosen]
    own = os.path.join(os.path.dirname(__file__), "lib", SONAME)
    return [own] if os.path.exists(own) else [SONAME]


def _load() -> ctypes.CDLL:
    (path,) = _candidates()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as failure:
        bits = struct.calcsize("P") * 8
        raise LibraryError(
            f"cannot load {path}: {failure}. It must be built for this machine "
            f"({os.uname().machine}, {bits} bits): install detcore with pip, or the library with "
            f"its package, or name it by the variable {VARIABLE}"
        ) from failure
    try:
        version = loaded.det_version()
    except AttributeError as failure:
        raise LibraryError(
            f"{path} is not libdetcore: it has no det_version(). Name the right one by "
            f"the variable {VARIABLE}, or unset it"
        ) from failure
    if version < _abi.DET_VERSION_NUMBER:
        raise LibraryError(
            f"{path} has version {_text_of(version)}, and this package needs "
            f"{_text_of(_abi.DET_VERSION_NUMBER)} or newer: install that library, or the package "
            "of that version"
        )
    return loaded


def _text_of(version: int) -> str:
    return f"{version // 1000000}.{version // 1000 % 1000}.{version % 1000}"


library = Library(_load())


def new_struct(struct: type[_Struct]) -> _Struct:
    """Returns a struct of the C API with its defaults."""
    return struct(struct_size=ctypes.sizeof(struct))


def new_error() -> tuple[Any, _abi.det_error]:
    """Returns the last argument of a function, and the struct that the function fills in."""
    error = new_struct(_abi.det_error)
    return byref(error), error


def call(name: str, *arguments: Any) -> int:
    """Calls a function that takes a det_error last. It raises failures, and returns other
    answers."""
    argument, error = new_error()
    status: int = getattr(library, name)(*arguments, argument)
    if status < 0:
        raise from_c(error)
    return status


def handle(name: str, *arguments: Any) -> int:
    """Calls a function whose last parameter but one is `something **out`, and returns the
    address."""
    out = ctypes.c_void_p()
    call(name, *arguments, byref(out))
    return out.value or 0


def text(name: str, *arguments: Any) -> str:
    """Calls a function that gives a `char **`. It returns a copy of the text and releases the
    text."""
    address = handle(name, *arguments)
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        library.det_free(address)


def encoded(value: str | os.PathLike[str] | None, what: str) -> bytes | None:
    """Converts text or a path for C. `what` names the argument in errors."""
    if value is None:
        return None
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str):
        raise TypeError(f"{what} must be text, not {type(value).__name__}: {value!r}")
    if "\0" in given:
        raise ValueError(f"{what} must not contain NUL: {given!r}")
    try:
        return given.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"{what} cannot be written in UTF-8: {given!r}") from None


def as_path(name: bytes) -> Path:
    """Converts a path from the library."""
    from pathlib import Path  # slow to import

    return Path(os.fsdecode(name))


def required(value: str | os.PathLike[str], what: str) -> bytes:
    """Does what encoded() does, for an argument without a default."""
    text = encoded(value, what)
    if text is None:
        raise TypeError(f"{what} must be text, not None")
    return text


class Callbacks:
    """Lets C call Python during one call.

    An exception cannot cross C. The first one is kept, and the callback answers `failed`. The end
    of this scope raises the exception in place of C's error.
    """

    def __init__(self) -> None:
        self._exception: BaseException | None = None
        self._alive: list[Any] = []
        self._is_cancelled = False

    def wrap(self, prototype: Any, function: Callable[..., Any], failed: Any = -1) -> Any:
        def guarded(*arguments: Any) -> Any:
            if self._is_cancelled:
                return failed
            try:
                answer = function(*arguments)
                return failed if self._is_cancelled else answer
            except BaseException as exception:  # also KeyboardInterrupt
                if self._exception is None:
                    self._exception = exception
                return failed

        callback = prototype(guarded)
        self._alive.append(callback)
        return callback

    def cancel(self) -> None:
        """Makes every later callback answer `failed`, so that the call ends soon."""
        self._is_cancelled = True

    def __enter__(self) -> Callbacks:
        _in_use.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        _in_use.discard(self)
        if self._exception is not None:
            raise self._exception from None


_in_use: set[Callbacks] = set()
os.register_at_fork(after_in_child=_in_use.clear)


@atexit.register
def _end_calls_that_call_back() -> None:
    """Ends calls that could still call Python, before the interpreter is gone.

    Python cannot take down their threads in the middle of C++. The process would be aborted.
    """
    end = time.monotonic() + 5
    for callbacks in list(_in_use):
        callbacks.cancel()
    while _in_use and time.monotonic() < end:
        time.sleep(0.005)


def milliseconds(seconds: float | None, what: str) -> int:
    """Converts a time limit in seconds for C. None is no limit, and 0 does not wait."""
    if seconds is None:
        return _abi.DET_TIMEOUT_INFINITE
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(
            f"{what} must be seconds or None, not {type(seconds).__name__}: {seconds!r}"
        )
    if not 0 <= seconds < 2**53:
        raise ValueError(f"{what} must be seconds from 0 on, or None for no limit, not {seconds!r}")
    return max(round(seconds * 1000), 1) if seconds else _abi.DET_TIMEOUT_NONE
