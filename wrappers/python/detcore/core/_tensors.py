"""Writes tensors from memory as safetensors files, and reads them back."""

from __future__ import annotations

import ctypes
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import byref, sizeof
from typing import TYPE_CHECKING, Any, NamedTuple

from detcore import _abi
from detcore._capi import Callbacks, call, handle, library, new_struct, required
from detcore._interruptible import interruptible
from detcore._json import encode
from detcore._owned import Owned
from detcore.core._arrays import DTYPES, Memory, is_torch, memory_of
from detcore.core._progress import Progress, cancellable, follow

if TYPE_CHECKING:
    from types import TracebackType

_NAMES = {name: dtype for dtype, name in DTYPES.items()}


class TensorPart(NamedTuple):
    """A part of a tensor: its array, and its place in the tensor."""

    array: Any
    offset: Sequence[int]
    #: The shape of the whole tensor. To read, you need not give it.
    global_shape: Sequence[int] | None = None


class Tensors:
    """The tensors of a file, or of the files of several ranks: a read-only view, until close().

    Methods take arrays of NumPy, PyTorch and other packages, also on CUDA devices, and anything
    with the buffer protocol.
    """

    def __init__(self, owned: Owned) -> None:
        self._owned = owned
        address = owned.address
        self._indices = {
            library.det_tensors_name(address, index).decode(): index
            for index in range(library.det_tensors_count(address))
        }
        #: The texts that the file has beside the tensors.
        self.metadata: dict[str, str] = json.loads(library.det_tensors_metadata(address))

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)

    def __contains__(self, name: object) -> bool:
        return name in self._indices

    def dtype(self, name: str) -> str:
        """Returns the dtype of a tensor in the file, such as "BF16"."""
        number = library.det_tensors_dtype(self._owned.address, self._indices[name])
        found: bytes = library.det_dtype_name(number)
        return found.decode()

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a tensor."""
        index, address = self._indices[name], self._owned.address
        count = library.det_tensors_dimensions(address, index)
        return tuple(library.det_tensors_shape(address, index)[:count])

    def nbytes(self, name: str) -> int:
        """Returns the bytes of a tensor."""
        size: int = library.det_tensors_size(self._owned.address, self._indices[name])
        return size

    def read_into(
        self,
        arrays: Mapping[str, Any],
        *,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        """Fills arrays with tensors of the same names.

        Args:
            arrays: Arrays by the names of the tensors, or TensorPart to read parts of them.
            progress: Receives the progress.
        """
        wanted = CTensors(arrays, to_fill=True)
        callbacks = Callbacks()
        options = new_struct(_abi.det_tensors_read_options)
        follow(options, callbacks, progress)
        owned = self._owned
        cancellable(
            callbacks,
            lambda: call(
                "det_tensors_read", owned.address, wanted.array, wanted.count, byref(options)
            ),
        )

    def numpy(
        self, name: str, offset: Sequence[int] | None = None, shape: Sequence[int] | None = None
    ) -> Any:
        """Reads a tensor, or a part of it, into a new array of NumPy.

        A dtype that NumPy does not have becomes one of ml_dtypes. `offset` and `shape` choose a
        part.
        """
        import numpy

        dtype = self._dtype_of_arrays(name)
        try:
            of_array = numpy.dtype(dtype)
        except TypeError:
            import ml_dtypes  # pyright: ignore[reportMissingImports]

            of_array = numpy.dtype(getattr(ml_dtypes, dtype))
        array = numpy.empty(self._shape_of_part(name, offset, shape), of_array)
        self.read_into({name: array if offset is None else TensorPart(array, offset)})
        return array

    def torch(
        self,
        name: str,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        *,
        device: Any = None,
    ) -> Any:
        """Reads a tensor, or a part of it, into a new tensor of PyTorch.

        `offset` and `shape` choose a part. `device` is the device of the new tensor.
        """
        import torch  # pyright: ignore[reportMissingImports]

        dtype = getattr(torch, self._dtype_of_arrays(name))
        array = torch.empty(self._shape_of_part(name, offset, shape), dtype=dtype, device=device)
        self.read_into({name: array if offset is None else TensorPart(array, offset)})
        return array

    def close(self) -> None:
        """Closes the file. The end of a `with` block does the same."""
        self._indices = {}
        self._owned.release()

    def __enter__(self) -> Tensors:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _dtype_of_arrays(self, name: str) -> str:
        dtype = self.dtype(name)
        if dtype not in _NAMES:
            raise TypeError(f"tensor {name!r}: there are no arrays of {dtype}")
        return _NAMES[dtype]

    def _shape_of_part(
        self, name: str, offset: Sequence[int] | None, shape: Sequence[int] | None
    ) -> tuple[int, ...]:
        whole = self.shape(name)
        if offset is None:
            return whole if shape is None else tuple(shape)
        if shape is not None:
            return tuple(shape)
        return tuple(max(size - start, 0) for size, start in zip(whole, offset))


def open_tensors(path: str | os.PathLike[str]) -> Tensors:
    """Opens the tensors of a file, or of the files that its index ("PATH.index.json") lists.

    It needs no run.
    """
    name = required(path, "path")
    return Tensors(
        interruptible(lambda: Owned(handle("det_tensors_open_path", name), "det_tensors_free"))
    )


def tensors_of(restore: Owned, name: str) -> Tensors:
    """Opens the tensors of a checkpoint, and keeps it open."""
    file = required(name, "name")
    return Tensors(
        interruptible(
            lambda: Owned(
                handle("det_tensors_open", restore.address, file), "det_tensors_free", restore
            )
        )
    )


def write(
    store: Owned,
    callbacks: Callbacks,
    name: str,
    tensors: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    file = required(name, "name")
    given = CTensors(tensors, to_fill=False)
    said = dict(metadata or {})
    if any(is_torch(_array_of(tensor)) for tensor in tensors.values()):
        said.setdefault("format", "pt")  # programs that read PyTorch's files expect it
    options = new_struct(_abi.det_tensors_write_options)
    options.metadata_json = encode(said, "metadata") if said else None
    cancellable(
        callbacks,
        lambda: call(
            "det_tensors_write", store.address, file, given.array, given.count, byref(options)
        ),
    )


def _array_of(tensor: Any) -> Any:
    return tensor.array if isinstance(tensor, TensorPart) else tensor


class CBuffers:
    """The arrays of a program's state in the form that C takes. It keeps their memory alive."""

    def __init__(self, arrays: Mapping[str, Any], to_fill: bool) -> None:
        tensors = CTensors(arrays, to_fill)
        self.count = tensors.count
        self.array = (_abi.det_buffer * self.count)()
        for each, tensor in zip(self.array, tensors.array):
            elements = math.prod(tensor.shape[: tensor.dimensions])
            each.name = tensor.name
            each.data = tensor.data
            each.size = elements * library.det_dtype_bits(tensor.dtype) // 8
        self._held = tensors


class CTensors:
    """Tensors in the form that C takes. It keeps their memory alive."""

    def __init__(self, tensors: Mapping[str, Any], to_fill: bool) -> None:
        if not isinstance(tensors, Mapping):
            raise TypeError(f"tensors must be a dict, not {type(tensors).__name__}")
        self.count = len(tensors)
        self.array = (_abi.det_tensor * self.count)()
        self._held: list[object] = []
        for each, (name, tensor) in zip(self.array, tensors.items()):
            self._fill(each, name, tensor, memory_of(_array_of(tensor), name, to_fill))

    def _fill(self, each: Any, name: str, tensor: Any, memory: Memory) -> None:
        each.struct_size = sizeof(each)
        each.name = required(name, "the name of a tensor")
        each.data = memory.address
        each.dtype = library.det_dtype_from_name(memory.dtype.encode())
        each.device = memory.device
        each.dimensions = len(memory.shape)
        each.shape = self._numbers(memory.shape)
        self._held.append(memory.owner)
        if isinstance(tensor, TensorPart):
            each.offset = self._dimensions(name, tensor.offset, "offset", memory)
            if tensor.global_shape is not None:
                whole = self._dimensions(name, tensor.global_shape, "global_shape", memory)
                each.global_shape = whole

    def _dimensions(self, name: str, numbers: Sequence[int], what: str, memory: Memory) -> Any:
        if len(numbers) != len(memory.shape):
            raise ValueError(
                f"tensor {name!r}: its {what} has {len(numbers)} dimensions, and the array "
                f"{len(memory.shape)}"
            )
        return self._numbers(numbers)

    def _numbers(self, numbers: Sequence[int]) -> Any:
        array = (ctypes.c_int64 * len(numbers))(*numbers)
        self._held.append(array)
        return ctypes.cast(array, ctypes.POINTER(ctypes.c_int64))
