"""Sums gradients and metrics over the ranks of data-parallel training."""

from __future__ import annotations

import ctypes
import json
import math
from ctypes import byref, sizeof
from typing import TYPE_CHECKING, Any, cast

from detcore import _abi
from detcore._capi import handle, library, new_error, new_struct
from detcore._json import encode
from detcore._owned import Owned
from detcore.core._arrays import DTYPES, Memory, memory_of
from detcore.core._job import failure_of
from detcore.core._tensors import CTensors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from detcore.core._distributed import DistributedContext

_DTYPES = {name: library.det_dtype_from_name(name.encode()) for name in DTYPES.values()}


def _said(count: int, dtype: int) -> str:
    return f"{count} elements of {(library.det_dtype_name(dtype) or b'no dtype').decode()}"


def _registered(tensors: Sequence[tuple[int, str]], sparse: Sequence[int]) -> Any:
    registered = (_abi.det_trial_gradient * len(tensors))()
    for index, (count, dtype) in enumerate(tensors):
        gradient = registered[index]
        gradient.struct_size = sizeof(gradient)
        gradient.count = count
        gradient.dtype = _DTYPES[DTYPES[dtype]] if dtype in DTYPES else 0
        gradient.is_sparse = index in sparse
    return registered


class GradientAggregator:
    """Sums gradients over the ranks of a job and over batches. One thread may use it at a time.

    `tensors` describes the gradients: the number of elements and the name of the dtype of each,
    such as `(1000, "float32")`. All ranks make it in step, with the same arguments. Without a job
    it is for this process alone.
    """

    def __init__(
        self,
        distributed: DistributedContext | None,
        tensors: Sequence[tuple[int, str]],
        *,
        aggregation_frequency: int = 1,
        average_aggregated_gradients: bool = True,
        gradient_compression: bool = False,
        first_to_last: bool = False,
        tensor_fusion_threshold: int = 0,
        sparse: Sequence[int] = (),
    ) -> None:
        options = new_struct(_abi.det_trial_gradients_options)
        options.aggregation_frequency = aggregation_frequency
        options.average_aggregated_gradients = bool(average_aggregated_gradients)
        options.gradient_compression = bool(gradient_compression)
        options.first_to_last = bool(first_to_last)
        options.tensor_fusion_threshold = tensor_fusion_threshold
        job = None
        if distributed is not None:
            job = distributed._open_job("making a GradientAggregator")
        ranks = job.address if job else None
        try:
            registered = _registered(tensors, sparse)
        except BaseException:
            # The error for no tensors, so that other ranks get it.
            out, (argument, _) = ctypes.c_void_p(), new_error()
            library.det_trial_gradients_create(ranks, None, 1, None, byref(out), argument)
            raise
        address = handle(
            "det_trial_gradients_create", ranks, registered, len(tensors), byref(options)
        )
        self._owned = Owned(address, "det_trial_gradients_free", job)
        self._tensors = [(gradient.count, gradient.dtype) for gradient in registered]
        self._held: list[Any] = [None] * len(tensors)  # until they are written

    def add(self, index: int, gradient: Any, result: Any = None) -> None:
        """Adds the gradient of one tensor in the current batch. It reads the gradient at once.

        step() writes the sum to `result`, or over the gradient itself. Arrays may be of any
        package. The Memory of an array saves time.
        """
        if not 0 <= index < len(self._tensors):
            raise IndexError(f"gradient {index}: {len(self._tensors)} tensors were registered")
        name = f"gradient {index}"
        into = self._memory(index, gradient if result is None else result, name, to_fill=True)
        read = into if result is None else self._memory(index, gradient, name, to_fill=False)
        self._held[index] = into
        argument, error = new_error()
        status = library.det_trial_gradients_add(
            self._owned.address, index, read.address, into.address, argument
        )
        if status < 0:
            raise failure_of(error) from None

    def step(self) -> bool:
        """Ends the batch. It returns True if the results should be applied now.

        That is at the end of every `aggregation_frequency` batches. There it waits for all ranks.
        """
        apply = ctypes.c_int32()
        argument, error = new_error()
        address = self._owned.address
        if library.det_trial_gradients_step(address, byref(apply), argument) < 0:
            raise failure_of(error) from None
        self._held = [None] * len(self._tensors)
        return bool(apply.value)

    def close(self) -> None:
        """Releases the buffers. A second call does nothing."""
        self._owned.release()

    def _memory(self, index: int, array: Any, name: str, to_fill: bool) -> Any:
        memory = array if isinstance(array, Memory) else memory_of(array, name, to_fill)
        count = math.prod(memory.shape)
        if (count, _DTYPES[memory.dtype]) != self._tensors[index]:
            raise ValueError(
                f"{name}: {_said(count, _DTYPES[memory.dtype])} came, and "
                f"{_said(*self._tensors[index])} were registered"
            )
        return memory


def average_metrics(
    distributed: DistributedContext | None,
    metrics: Mapping[str, Any],
    weight: float | None = None,
) -> dict[str, Any]:
    """Returns the mean of each metric over the ranks, with sorted keys. All ranks call it in step.

    `weight` is the weight of this rank. All ranks give one, or none does. A value that is not a
    number is that of rank 0.
    """
    job = None if distributed is None else distributed._open_job("average_metrics")
    out = ctypes.c_void_p()
    argument, error = new_error()
    address = job.address if job else None
    try:
        given = encode(metrics, "metrics")
        counts = None if weight is None else byref(ctypes.c_double(weight))
    except BaseException:
        # The error for no metrics, so that other ranks get it.
        library.det_trial_average_metrics(address, None, None, byref(out), argument)
        raise
    if library.det_trial_average_metrics(address, given, counts, byref(out), argument) < 0:
        raise failure_of(error) from None
    try:
        return cast("dict[str, Any]", json.loads(ctypes.string_at(out.value or 0)))
    finally:
        library.det_free(out)


def broadcast_arrays(distributed: DistributedContext | None, arrays: Mapping[str, Any]) -> None:
    """Copies rank 0's arrays over those of all other ranks, in place. All ranks call it in step.

    Names, dtypes, shapes and order are the same on all ranks. Those of rank 0 are only read.
    """
    job = None if distributed is None else distributed._open_job("broadcast_arrays")
    address = job.address if job else None
    argument, error = new_error()
    try:
        given = CTensors(arrays, to_fill=distributed is not None and distributed.rank != 0)
    except BaseException:
        # The error for no arrays, so that other ranks get it.
        library.det_trial_broadcast(address, None, 1, argument)
        raise
    if library.det_trial_broadcast(address, given.array, given.count, argument) < 0:
        raise failure_of(error) from None
