"""Adds data to TensorBoard, beside the reported metrics."""

from __future__ import annotations

import array
import ctypes
from ctypes import POINTER, byref, c_double, c_float
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._arguments import integer, real
from detcore._capi import call, milliseconds, required
from detcore._interruptible import interruptible
from detcore.core._arrays import Memory, is_torch, memory_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.core._core import Core


class TensorboardContext:
    """Adds scalars, histograms, texts and images to TensorBoard: `context.tensorboard`.

    The methods take the arguments of SummaryWriter's methods of the same name. A thread of the
    library writes, so none of them waits for the disk.

    In AUTO mode only the chief calls them. In MANUAL mode any rank may, and
    `context.train.upload_tensorboard_files()` brings the files to storage.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = core.view("tensorboard")

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        """Adds a number to a curve."""
        value = real(scalar_value, "scalar_value")
        call("det_tensorboard_add_scalar", self._view, *_place(tag, global_step), value)

    def add_histogram(self, tag: str, values: Any, global_step: int) -> None:
        """Adds the distribution of values: an array of NumPy, PyTorch and other packages, or a
        list."""
        memory = _floats(values, tag)
        count = 1
        for size in memory.shape:
            count *= size
        call(
            "det_tensorboard_add_histogram" + ("_float" if memory.dtype == "F32" else ""),
            self._view,
            *_place(tag, global_step),
            ctypes.cast(memory.address, POINTER(c_float if memory.dtype == "F32" else c_double)),
            count,
        )

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: int,
    ) -> None:
        """Adds a histogram that you have counted yourself.

        Bucket i has the values below `bucket_limits[i]` that are in no bucket before it. `num` is
        the sum of the counts.
        """
        limits, counts = array.array("d", bucket_limits), array.array("d", bucket_counts)
        if len(limits) != len(counts):
            raise ValueError(
                f"bucket_limits has {len(limits)} numbers, bucket_counts {len(counts)}; give as "
                "many of both"
            )
        histogram = _abi.det_histogram(
            struct_size=ctypes.sizeof(_abi.det_histogram),
            limits=(c_double * len(limits)).from_buffer(limits),
            counts=(c_double * len(counts)).from_buffer(counts),
            count=len(limits),
            min=real(min, "min"),
            max=real(max, "max"),
            sum=real(sum, "sum"),
            sum_squares=real(sum_squares, "sum_squares"),
        )
        call(
            "det_tensorboard_add_histogram_buckets",
            self._view,
            *_place(tag, global_step),
            byref(histogram),
        )

    def add_text(self, tag: str, text_string: str, global_step: int) -> None:
        """Adds a text. TensorBoard shows it as Markdown."""
        text = required(text_string, "text_string")
        call("det_tensorboard_add_text", self._view, *_place(tag, global_step), text)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int, dataformats: str = "CHW"
    ) -> None:
        """Adds an image.

        Args:
            tag: The name of the image.
            img_tensor: A PNG or JPEG file as bytes, or an array. An array has 8-bit integers, or
                floats from 0 to 1.
            global_step: The step of the image.
            dataformats: The order of the axes of an array, one of "CHW", "HWC" and "HW".
        """
        place = _place(tag, global_step)
        if isinstance(img_tensor, (bytes, bytearray)):
            encoded = bytes(img_tensor)
            call("det_tensorboard_add_image", self._view, *place, encoded, len(encoded))
            return
        pixels = _pixels(img_tensor, dataformats)
        height, width, channels = pixels.shape
        memory = memory_of(pixels, tag, to_fill=False)
        call(
            "det_tensorboard_add_pixels",
            self._view,
            *place,
            memory.address,
            width,
            height,
            channels,
        )

    def flush(self, timeout: float | None = 60) -> None:
        """Waits until all added data is in the event file.

        Args:
            timeout: The most seconds to wait. None: no limit.
        """
        limit = milliseconds(timeout, "timeout")
        interruptible(lambda: call("det_tensorboard_flush", self._view, limit))


def _place(tag: str, global_step: int) -> tuple[bytes, int]:
    step = integer(global_step, "global_step")
    if not 0 <= step < 2**63:
        raise ValueError(f"global_step must be from 0 to 2**63 - 1, not {step}")
    return required(tag, "the tag"), step


def _floats(values: Any, tag: str) -> Memory:
    if is_torch(values):
        values = values.detach().cpu()
        if str(values.dtype) not in ("torch.float32", "torch.float64"):
            values = values.double()
    elif hasattr(values, "__array__"):
        import numpy

        values = numpy.asarray(values)
        if values.dtype not in (numpy.float32, numpy.float64):
            values = values.astype(numpy.float64)
    elif not isinstance(values, array.array) or values.typecode not in "fd":
        values = array.array("d", values)
    return memory_of(values, tag, to_fill=False)


def _pixels(image: Any, dataformats: str) -> Any:
    """Returns rows of pixels with 8-bit channels."""
    import numpy

    axes = dataformats.upper()
    if axes not in ("CHW", "HWC", "HW"):
        raise ValueError(f'dataformats must be "CHW", "HWC" or "HW", not {dataformats!r}')
    given = numpy.asarray(image.detach().cpu() if is_torch(image) else image)
    if given.ndim != len(axes):
        raise ValueError(
            f"the image has the shape {given.shape}, which is not one of dataformats {axes!r}"
        )
    if given.dtype.kind == "f":
        given = (numpy.clip(given, 0, 1) * 255).round()
    elif given.dtype != numpy.uint8:
        raise TypeError(
            f"the image has elements of {given.dtype}; give 8-bit integers, or floats from 0 to 1"
        )
    if axes == "CHW":
        given = given.transpose(1, 2, 0)
    elif axes == "HW":
        given = given[:, :, None]
    return numpy.ascontiguousarray(given, dtype=numpy.uint8)
