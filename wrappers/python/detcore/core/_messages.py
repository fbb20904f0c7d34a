"""Encodes Python objects as bytes, for other ranks.

None, bool, int, float, str, bytes, bytearray, list, tuple, dict, and NumPy's arrays and scalars
have a separate form, which is safe to read. A memoryview becomes bytes. All other objects are
pickled, unless that is not allowed.

A message is a head and its bulk. A value of more than `bulk_above` bytes is not copied into the
head, which only announces it.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from detcore._abi import DET_E_CORRUPT, DET_E_INVALID
from detcore.core._memory import Part, array_over, part_of_bytearray, part_of_bytes
from detcore.errors import CorruptError, InvalidArgumentError

_COUNT = struct.Struct("<I")
_SIZE = struct.Struct("<Q")
_INTEGER = struct.Struct("<q")
_FLOAT = struct.Struct("<d")
_IN_BULK = 1 << 63
# Up to this number of values, each is written separately.
_FEW = 3
# The kinds of arrays that are complete in their bytes: bools, numbers, texts, bytes and times.
_PLAIN_KINDS = "biufcSUmM"


class Message(NamedTuple):
    head: bytes
    bulk: list[Part]


def encode(value: Any, *, bulk_above: int | None, allow_pickle: bool) -> Message:
    """Encodes a value. If `bulk_above` is None, everything is in the head. It raises what pickle
    raises."""
    writer = _Writer(sys.maxsize if bulk_above is None else bulk_above, allow_pickle)
    writer.write(value)
    writer.out[0] = _COUNT.pack(len(writer.bulk))
    return Message(b"".join(writer.out), writer.bulk)


def encode_failure(exception: BaseException) -> Message:
    """Encodes the message of a rank that cannot send its value."""
    text = f"{type(exception).__name__}: {exception}".encode("utf-8", "replace")
    return Message(_COUNT.pack(0) + b"x" + _SIZE.pack(len(text)) + text, [])


def bulk_count(head: bytes) -> int:
    """Returns the number of parts that follow the head."""
    if len(head) < _COUNT.size:
        raise _corrupt("it is empty")
    count: int = _COUNT.unpack_from(head)[0]
    return count


def decode(message: Message, *, allow_pickle: bool) -> Any:
    """Decodes a message. Arrays in bulk use the memory of their part. Everything else is copied."""
    reader = _Reader(message, allow_pickle)
    try:
        value = reader.read()
    except (CorruptError, InvalidArgumentError, ImportError):
        raise
    except Exception as failure:
        raise _corrupt(f"{type(failure).__name__}: {failure}") from failure
    if reader.at != len(message.head):
        raise _corrupt("something follows its end")
    return value


def _corrupt(why: str) -> CorruptError:
    return CorruptError(
        f"reading what another rank sent: {why}; all ranks must run the same release of detcore",
        code=DET_E_CORRUPT,
    )


def _refused(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{what} can only be pickled, which allow_pickle = False refuses: give lists, dicts, "
        "numbers, text, bytes or arrays of NumPy",
        code=DET_E_INVALID,
    )


class _Writer:
    def __init__(self, bulk_above: int, allow_pickle: bool) -> None:
        self.out = [b""]
        self.bulk: list[Part] = []
        self._bulk_above = bulk_above
        self._allow_pickle = allow_pickle

    def write(self, value: Any) -> None:
        writer = _WRITERS.get(type(value))
        if writer is not None:
            writer(self, value)
        elif not self._write_numpy(value):
            self._write_pickle(value)

    def _block(self, data: bytes) -> None:
        self.out += (_SIZE.pack(len(data)), data)

    def _data(self, size: int, part: Callable[[], Part], copy: Callable[[], bytes]) -> None:
        if size > self._bulk_above:
            self.out.append(_SIZE.pack(size | _IN_BULK))
            self.bulk.append(part())
        else:
            self._block(copy())

    def _none(self, _: None) -> None:
        self.out.append(b"N")

    def _bool(self, value: bool) -> None:
        self.out.append(b"T" if value else b"F")

    def _int(self, value: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.out += (b"i", _INTEGER.pack(value))
        else:
            self.out.append(b"I")
            self._block(value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))

    def _float(self, value: float) -> None:
        self.out += (b"f", _FLOAT.pack(value))

    def _str(self, value: str) -> None:
        self.out.append(b"s")
        self._block(value.encode("utf-8", "surrogatepass"))

    def _bytes(self, value: bytes) -> None:
        self.out.append(b"b")
        self._data(len(value), lambda: part_of_bytes(value), lambda: value)

    def _bytearray(self, value: bytearray) -> None:
        self.out.append(b"B")
        self._data(len(value), lambda: part_of_bytearray(value), lambda: bytes(value))

    def _memoryview(self, value: memoryview) -> None:
        self._bytes(value.tobytes())

    def _sequence(self, value: list[Any] | tuple[Any, ...]) -> None:
        self.out += (b"l" if type(value) is list else b"t", _SIZE.pack(len(value)))
        kinds = set(map(type, value)) if len(value) > _FEW else None
        if kinds == {float}:
            self.out += (b"f", struct.pack(f"<{len(value)}d", *value))
            return
        if kinds == {int} and min(value) >= -(1 << 63) and max(value) < 1 << 63:
            self.out += (b"i", struct.pack(f"<{len(value)}q", *value))
            return
        self.out.append(b".")
        for item in value:
            self.write(item)

    def _dict(self, value: dict[Any, Any]) -> None:
        self.out += (b"d", _SIZE.pack(len(value)))
        for key, item in value.items():
            self.write(key)
            self.write(item)

    def _write_numpy(self, value: Any) -> bool:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return False
        is_array = type(value) is numpy.ndarray
        if not is_array and not isinstance(value, numpy.generic):
            return False
        if value.dtype.kind not in _PLAIN_KINDS:
            return False
        array = value if is_array else numpy.asarray(value)
        by_column = array.flags.f_contiguous and not array.flags.c_contiguous
        if not by_column:
            array = numpy.ascontiguousarray(array).reshape(array.shape)
        self.out += (b"a" if is_array else b"g", b"F" if by_column else b"C")
        self._str(array.dtype.str)
        self._sequence(array.shape)
        address: int = array.__array_interface__["data"][0]
        self._data(
            array.nbytes,
            lambda: Part(address, array.nbytes, array),
            lambda: bytes(array.tobytes("A")),
        )
        return True

    def _write_pickle(self, value: Any) -> None:
        if not self._allow_pickle:
            raise _refused(f"{type(value).__module__}.{type(value).__qualname__}")
        self.out.append(b"p")
        import pickle

        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._data(len(data), lambda: part_of_bytes(data), lambda: data)


_WRITERS: dict[type, Callable[[_Writer, Any], None]] = {
    type(None): _Writer._none,
    bool: _Writer._bool,
    int: _Writer._int,
    float: _Writer._float,
    str: _Writer._str,
    bytes: _Writer._bytes,
    bytearray: _Writer._bytearray,
    memoryview: _Writer._memoryview,
    list: _Writer._sequence,
    tuple: _Writer._sequence,
    dict: _Writer._dict,
}


class _Reader:
    def __init__(self, message: Message, allow_pickle: bool) -> None:
        self.at = _COUNT.size
        self._head = message.head
        self._bulk = iter(message.bulk)
        self._allow_pickle = allow_pickle

    def read(self) -> Any:
        start = self.at
        self.at += 1
        return _READERS[self._head[start : self.at]](self)

    def _take(self, size: int) -> bytes:
        start = self.at
        self.at += size
        if self.at > len(self._head):
            raise _corrupt("it ends too early")
        return self._head[start : self.at]

    def _number(self) -> int:
        return self._unpack(_SIZE)  # type: ignore[no-any-return]

    def _unpack(self, form: struct.Struct) -> Any:
        start = self.at
        self.at += form.size
        return form.unpack_from(self._head, start)[0]

    def _block(self) -> bytes:
        return self._take(self._number())

    def _data(self) -> bytes | Part:
        size = self._number()
        if not size & _IN_BULK:
            return self._take(size)
        part = next(self._bulk, None)
        if part is None or part.size != size ^ _IN_BULK:
            raise _corrupt("its bulk has another size than it says")
        return part

    def _int(self) -> int:
        return self._unpack(_INTEGER)  # type: ignore[no-any-return]

    def _large_int(self) -> int:
        return int.from_bytes(self._block(), "little", signed=True)

    def _float(self) -> float:
        return self._unpack(_FLOAT)  # type: ignore[no-any-return]

    def _str(self) -> str:
        return str(self._block(), "utf-8", "surrogatepass")

    def _bytes(self) -> bytes:
        data = self._data()
        return data.copy() if isinstance(data, Part) else data

    def _list(self) -> list[Any]:
        count = self._number()
        form = self._take(1)
        if form != b".":
            code = {b"f": "d", b"i": "q"}[form]
            return list(struct.unpack(f"<{count}{code}", self._take(8 * count)))
        return [self.read() for _ in range(count)]

    def _dict(self) -> dict[Any, Any]:
        return {self.read(): self.read() for _ in range(self._number())}

    def _array(self) -> Any:
        import numpy

        order: Any = self._take(1).decode()
        dtype = numpy.dtype(self.read())
        shape = self.read()
        data = self._data()
        size = data.size if isinstance(data, Part) else len(data)
        if dtype.kind not in _PLAIN_KINDS or math.prod(shape) * dtype.itemsize != size:
            raise _corrupt(f"{size} bytes are no array {shape} of {dtype}")
        if isinstance(data, Part):
            return array_over(data, dtype).reshape(shape, order=order)
        return numpy.ndarray(shape, dtype, data, order=order).copy(order)

    def _numpy_scalar(self) -> Any:
        return self._array()[()]

    def _pickle(self) -> Any:
        if not self._allow_pickle:
            raise _refused("what another rank sent")
        data = self._data()
        import pickle

        return pickle.loads(data.view() if isinstance(data, Part) else data)

    def _failure(self) -> Any:
        raise InvalidArgumentError(
            "another rank could not send what it was given: "
            + self._block().decode("utf-8", "replace"),
            code=DET_E_INVALID,
        )


_READERS: dict[bytes, Callable[[_Reader], Any]] = {
    b"N": lambda _: None,
    b"T": lambda _: True,
    b"F": lambda _: False,
    b"i": _Reader._int,
    b"I": _Reader._large_int,
    b"f": _Reader._float,
    b"s": _Reader._str,
    b"b": _Reader._bytes,
    b"B": lambda reader: bytearray(reader._bytes()),
    b"l": _Reader._list,
    b"t": lambda reader: tuple(reader._list()),
    b"d": _Reader._dict,
    b"a": _Reader._array,
    b"g": _Reader._numpy_scalar,
    b"p": _Reader._pickle,
    b"x": _Reader._failure,
}
