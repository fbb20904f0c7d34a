"""Gives C the memory of arrays of any package, without importing that package."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from detcore import _abi

#: The names of dtypes in files, by their names in NumPy, ml_dtypes and PyTorch.
DTYPES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "complex64": "C64",
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
}
_KINDS = {"b": "bool", "u": "uint", "i": "int", "f": "float", "c": "complex"}
# The names of the array interface. A kind of two bytes may be another dtype.
_TYPES = {
    **{f"|{kind}1": name for kind, name in (("b", "bool"), ("u", "uint8"), ("i", "int8"))},
    **{f"<{kind}{size}": f"{_KINDS[kind]}{8 * size}" for kind in "ui" for size in (2, 4, 8)},
    "<f4": "float32",
    "<f8": "float64",
    "<c8": "complex64",
}
_FORMATS = {"?": "bool", "e": "float16", "f": "float32", "d": "float64"}
_SIGNED, _UNSIGNED = "bhilqn", "BHILQN"


class Memory(NamedTuple):
    """The memory of an array, row-major and without gaps. `owner` keeps it alive."""

    dtype: str
    shape: tuple[int, ...]
    address: int
    device: int
    owner: object


def is_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch" and hasattr(array, "data_ptr")


def memory_of(array: Any, name: str, to_fill: bool) -> Memory:
    """Returns the memory of an array. It copies an array that has gaps and is not to be filled."""
    if is_torch(array):
        return _of_torch(array, name, to_fill)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(array, array.__cuda_array_interface__, name, to_fill, on_device=True)
    about = getattr(array, "__array_interface__", None)
    if about is not None:
        return _of_interface(array, about, name, to_fill, on_device=False)
    return _of_buffer(array, name, to_fill)


def _known(dtype: str, name: str) -> str:
    try:
        return DTYPES[dtype]
    except KeyError:
        raise TypeError(f"tensor {name!r}: a file cannot have elements of {dtype}") from None


def _refuse_gaps(name: str) -> None:
    raise ValueError(
        f"tensor {name!r}: it is not row-major without gaps; give a contiguous array to read into"
    )


def _of_torch(tensor: Any, name: str, to_fill: bool) -> Memory:
    device = {"cpu": _abi.DET_DEVICE_HOST, "cuda": _abi.DET_DEVICE_CUDA}.get(tensor.device.type)
    if device is None or str(tensor.layout) != "torch.strided":
        raise TypeError(
            f"tensor {name!r}: a {str(tensor.layout)[6:]} tensor on {tensor.device.type} has no "
            "memory to copy; give a strided one on cpu or cuda"
        )
    dtype = _known(str(tensor.dtype)[6:], name)
    held = tensor.detach()
    if not held.is_contiguous() or held.is_conj() or held.is_neg():
        if to_fill:
            _refuse_gaps(name)
        held = held.resolve_conj().resolve_neg().contiguous()
    return Memory(dtype, tuple(held.shape), held.data_ptr(), device, held)


def _of_interface(array: Any, about: Any, name: str, to_fill: bool, on_device: bool) -> Memory:
    if about.get("strides") is not None:
        if to_fill:
            _refuse_gaps(name)
        return memory_of(_packed(array, name, on_device), name, to_fill)
    address, read_only = about["data"]
    if to_fill and read_only:
        raise ValueError(f"tensor {name!r}: the array to read into is read-only")
    typestr = about["typestr"]
    if typestr[0] == ">":
        raise ValueError(f"tensor {name!r}: its bytes are in the order of other machines")
    # To ask NumPy for a name takes longer than everything else here.
    dtype = _TYPES.get(typestr) or str(getattr(getattr(array, "dtype", None), "name", ""))
    if dtype not in DTYPES:
        kind: str = typestr[1]
        dtype = (_KINDS[kind] if kind in _KINDS else str(typestr)) + str(int(typestr[2:]) * 8)
        dtype = "bool" if dtype == "bool8" else dtype
    device = _abi.DET_DEVICE_CUDA if on_device else _abi.DET_DEVICE_HOST
    return Memory(_known(dtype, name), tuple(about["shape"]), address, device, array)


def _packed(array: Any, name: str, on_device: bool) -> Any:
    if on_device:
        raise ValueError(f"tensor {name!r}: it is not row-major without gaps; copy it before")
    import numpy

    packed = numpy.ascontiguousarray(array)
    if packed.__array_interface__["strides"] is not None:
        raise ValueError(f"tensor {name!r}: no contiguous copy of it can be made")
    return packed


def _of_buffer(array: Any, name: str, to_fill: bool) -> Memory:
    try:
        view = memoryview(array)
    except TypeError:
        raise TypeError(
            f"tensor {name!r}: a {type(array).__name__} is no array; give one of NumPy or PyTorch, "
            "or something with the buffer protocol"
        ) from None
    if view.readonly and to_fill:
        raise ValueError(f"tensor {name!r}: the array to read into is read-only")
    if not view.c_contiguous:
        if to_fill:
            _refuse_gaps(name)
        view = memoryview(bytearray(view.tobytes())).cast("B").cast(view.format, view.shape)  # type: ignore[call-overload]
    form = view.format.lstrip("@=<") or "B"
    bits = str(view.itemsize * 8)
    dtype = _FORMATS.get(form, form)
    if form in _SIGNED or form in _UNSIGNED:
        dtype = ("int" if form in _SIGNED else "uint") + bits
    shape = tuple(view.shape or ())
    held: Any = (ctypes.c_char * view.nbytes).from_buffer(
        bytearray(view.tobytes()) if view.readonly else view
    )
    host = _abi.DET_DEVICE_HOST
    return Memory(_known(dtype, name), shape, ctypes.addressof(held), host, held)
