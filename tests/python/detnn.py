"""Models of the library detnn, by ctypes: as much of det/nn.h as the tests ask for."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
from detcore import _abi
from numpy.typing import NDArray

F32, I32 = 18, 16  # DET_DTYPE_*


class Model:
    """A model that is made from what `Model.to_json()` of Keras writes."""

    def __init__(self, json: str) -> None:
        self._library = ctypes.CDLL(os.environ["DETNN_LIBRARY"])
        self._handle = ctypes.c_void_p()
        self._call("create", json.encode(), None, ctypes.byref(self._handle), handle=False)

    @classmethod
    def load(cls, path: Path) -> Model:
        """The model of a file that Keras wrote."""
        model = cls.__new__(cls)
        model._library = ctypes.CDLL(os.environ["DETNN_LIBRARY"])
        model._handle = ctypes.c_void_p()
        model._call("load", str(path).encode(), None, ctypes.byref(model._handle), handle=False)
        return model

    def _call(self, name: str, *arguments: Any, handle: bool = True) -> None:
        error = _abi.det_error(struct_size=ctypes.sizeof(_abi.det_error))
        given = ((self._handle,) if handle else ()) + arguments
        status = getattr(self._library, f"det_nn_model_{name}")(*given, ctypes.byref(error))
        if status != 0:
            raise RuntimeError(f"{status}: {error.message.decode()}")

    def _lent(self, name: str, *arguments: Any) -> list[tuple[str, NDArray[Any]]]:
        tensors, count = ctypes.POINTER(_abi.det_tensor)(), ctypes.c_size_t()
        self._call(name, *arguments, ctypes.byref(tensors), ctypes.byref(count))
        return [
            (
                one.name.decode(),
                np.ctypeslib.as_array(
                    ctypes.cast(one.data, ctypes.POINTER(ctypes.c_float)),
                    tuple(one.shape[: one.dimensions]),
                ),
            )
            for one in tensors[: count.value]
        ]

    def to_json(self) -> str:
        text = ctypes.c_char_p()
        self._call("to_json", ctypes.byref(text))
        return (text.value or b"").decode()

    def weights(self) -> dict[str, NDArray[Any]]:
        return dict(self._lent("weights"))

    def predict(self, *inputs: NDArray[Any]) -> list[NDArray[Any]]:
        given = (_abi.det_tensor * len(inputs))()
        shapes = [(ctypes.c_int64 * one.ndim)(*one.shape) for one in inputs]
        for tensor, one, shape in zip(given, inputs, shapes):
            tensor.struct_size = ctypes.sizeof(_abi.det_tensor)
            tensor.data = one.ctypes.data
            tensor.dtype = I32 if one.dtype == np.int32 else F32
            tensor.dimensions = one.ndim
            tensor.shape = shape
        # Several of one layer have one name.
        results = self._lent("predict_on_batch", given, ctypes.c_size_t(len(inputs)))
        return [values for _, values in results]

    def load_weights(self, path: Path) -> None:
        self._call("load_weights", str(path).encode())

    def save_weights(self, path: Path) -> None:
        self._call("save_weights", str(path).encode())

    def write_onnx(self, path: Path) -> None:
        self._call("write_onnx", str(path).encode())
