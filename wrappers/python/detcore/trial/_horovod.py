"""Uses Horovod in place of detcore's sums over ranks, on request."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore.core import DistributedContext
from detcore.trial._gradients import Gradients
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.trial import ExperimentConfig

# horovodrun sets the first. The second is 1 if something else asks for Horovod.
_RANK, _WANTED = "HOROVOD_RANK", "USE_HOROVOD"


def start() -> Any:
    """Starts horovod.tensorflow. None if nothing asks for it. ImportError if it is missing.

    Call it before the ranks meet: both must use an MPI that Horovod's thread may call.
    """
    if _RANK not in os.environ and os.environ.get(_WANTED) != "1":
        return None
    try:
        import horovod.tensorflow as hvd  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as missing:
        raise ImportError(
            f"training over Horovod, as {_RANK} or {_WANTED}=1 ask for: horovod.tensorflow cannot "
            f"be imported ({missing}): HOROVOD_WITH_TENSORFLOW=1 pip install --no-build-isolation "
            "horovod; or start the ranks without it, by det run or mpirun"
        ) from missing
    hvd.init()
    return hvd


# When the first rank leaves, a thread of Horovod ends MPI on all ranks. A rank that left a job by
# MPI after that would crash. So no rank does.
_never_left: list[Any] = []


def join_ranks() -> DistributedContext:
    hvd = start()
    ranks = DistributedContext.from_env()
    if hvd is not None:
        _never_left.append(ranks._job)
    return ranks


def gradients_of(distributed: DistributedContext, config: ExperimentConfig) -> Gradients | None:
    """Returns the sums of a trial with several ranks. None for one process."""
    if distributed.size == 1:
        return None
    hvd = start()
    return Gradients(distributed, config) if hvd is None else _OverHorovod(hvd, distributed, config)


class _OverHorovod(Gradients):
    """Sums through Horovod. It adds several batches of a rank first, and Horovod then averages over
    ranks.

    Horovod's own optimizers do not fit: they miss a train_step() that applies gradients itself.
    """

    def __init__(self, hvd: Any, distributed: DistributedContext, config: ExperimentConfig) -> None:
        if (hvd.rank(), hvd.size()) != (distributed.rank, distributed.size):
            raise RuntimeError(
                f"training over Horovod: it counts rank {hvd.rank()} of {hvd.size()}, and this is "
                f"rank {distributed.rank} of {distributed.size}; one built without MPI is started "
                "by horovodrun: install it with HOROVOD_WITH_MPI=1, or unset USE_HOROVOD"
            )
        super().__init__(distributed, config)
        is_compressed = self._options["gradient_compression"]
        self._hvd = hvd
        self._compression = hvd.Compression.fp16 if is_compressed else hvd.Compression.none
        self._ranks = None
        self._options["gradient_compression"] = False

    def _sum(
        self, position: int, gradients: Sequence[Any], variables: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        if self.frequency == 1:
            return self._averages(position, list(gradients)), tf.constant(True)
        sums, is_applied = super()._sum(position, gradients, variables)
        if tf.executing_eagerly():
            return self._averages(position, sums) if is_applied else sums, is_applied
        averages = tf.cond(is_applied, lambda: self._averages(position, sums), lambda: sums)
        return averages, is_applied

    def _averages(self, position: int, gradients: list[Any]) -> list[Any]:
        # Horovod knows tensors by name. A graph that one rank made again has other names.
        with self._met(gradients):
            return [self._average(f"det.{position}.{n}", one) for n, one in enumerate(gradients)]

    def _met(self, gradients: list[Any]) -> Any:
        """Lets the ranks meet first, because Horovod waits forever for a rank that has left.

        detcore reports such a rank. In a graph, the gradients of the first layers may still be
        computed.
        """
        if tf.executing_eagerly():
            self._meet()
            return contextlib.nullcontext()
        with tf.control_dependencies(gradients[-1:]):
            met = tf.numpy_function(self._keep_failure(self._meet), [], tf.bool)
        return tf.control_dependencies([met])

    def _meet(self) -> Any:
        self._distributed.allgather(None)
        return np.bool_(True)

    def _average(self, name: str, gradient: Any) -> Any:
        if not isinstance(gradient, tf.IndexedSlices):
            return self._hvd.allreduce(
                gradient,
                op=self._hvd.Average,
                compression=self._compression,
                name=name,
                ignore_name_scope=True,
            )
        values, rows = (
            self._hvd.allgather(part, name=f"{name}.{of}", ignore_name_scope=True)
            for of, part in (("values", gradient.values), ("rows", gradient.indices))
        )
        size = tf.cast(self._distributed.size, values.dtype)
        return tf.IndexedSlices(values / size, rows, gradient.dense_shape)
