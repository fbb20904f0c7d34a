"""Shares memory between Python and the library, without copies."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from detcore._capi import library


class Part(NamedTuple):
    """Some bytes in memory. `owner` keeps them alive."""

    address: int
    size: int
    owner: object

    def copy(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def view(self) -> Any:
        """Returns the bytes as an object with the buffer protocol."""
        view = (ctypes.c_char * self.size).from_address(self.address)
        view._owner = self.owner  # type: ignore[attr-defined]
        return view


def part_of_bytes(data: bytes) -> Part:
    return Part(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0, len(data), data)


def part_of_bytearray(data: bytearray) -> Part:
    held = (ctypes.c_char * len(data)).from_buffer(data)  # so it cannot be resized
    return Part(ctypes.addressof(held), len(data), held)


def array_over(part: Part, dtype: Any) -> Any:
    """Returns a flat, writable array of NumPy over the bytes. It keeps the part alive."""
    import numpy

    return numpy.asarray(_OfArray(part, dtype))


class _OfArray:
    def __init__(self, part: Part, dtype: Any) -> None:
        self._part = part
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": (part.size // dtype.itemsize,),
            "data": (part.address, False),
        }


class Messages:
    """The messages that a collective returned, one from each rank. They live as long as any part of
    them."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __len__(self) -> int:
        count: int = library.det_messages_count(self._address)
        return count

    def copy(self, index: int) -> bytes:
        size = ctypes.c_size_t()
        address = library.det_messages_data(self._address, index, ctypes.byref(size))
        return ctypes.string_at(address, size.value)

    def part(self, index: int) -> Part:
        size = ctypes.c_size_t()
        address = library.det_messages_data(self._address, index, ctypes.byref(size))
        return Part(address or 0, size.value, self)

    # At the end of the interpreter, the globals of this module may be gone already.
    def __del__(self, free: Any = library.det_messages_free) -> None:
        free(self._address)
