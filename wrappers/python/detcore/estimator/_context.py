"""The context that an EstimatorTrial gets when it is made."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from detcore.estimator import _reducer
from detcore.estimator._distributed_optimizer import distribute
from detcore.trial import CheckFailedError, TrialContext
from detcore.trial._dataset_cache import DatasetCaching
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.trial._gradients import Gradients

_log = logging.getLogger("detcore.estimator")


class EstimatorExperimentalContext(DatasetCaching):
    """Caches slow datasets, and makes metrics: `context.experimental`."""

    _context: EstimatorContext

    def make_metric(
        self,
        metric: Any,
        reducer: _reducer.MetricReducer | Callable[[list[Any]], Any],
        numpy_dtype: Any,
    ) -> tuple[Any, Any]:
        """Makes a metric, as make_metric() of the context does."""
        return self._context.make_metric(metric, reducer, numpy_dtype)


class EstimatorContext(TrialContext):
    """The context of trials of estimators. A trial passes optimizers, datasets and metrics through
    it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.experimental = EstimatorExperimentalContext(self)
        self._optimizer_wrapped = False
        self._dataset_wrapped = False
        #: The sums over ranks, while the graph of a training is made.
        self._gradients: Gradients | None = None
        #: The exception of a reducer. TensorFlow keeps only its text.
        self._failure: BaseException | None = None

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Makes an optimizer apply the gradients of all ranks. Call it as soon as the optimizer is
        made.

        Use the optimizer that it returns.
        """
        if not self.env.managed_training:
            return optimizer
        if isinstance(optimizer, str) and self.distributed.size > 1:
            raise CheckFailedError(
                f"wrap_optimizer({optimizer!r}): a name cannot be shared by "
                f"{self.distributed.size} ranks; make the optimizer and pass the object"
            )
        self._optimizer_wrapped = True
        return (
            optimizer
            if self.distributed.size == 1
            else distribute(optimizer, lambda: self._gradients)
        )

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Gives each rank its share of a tf.data.Dataset. Call it for each one, as soon as it is
        made.

        Args:
            dataset: The dataset.
            shard_dataset: False: each rank gets the whole dataset, and your trial divides it.

        Returns:
            The dataset to use instead.
        """
        if not self.env.managed_training:
            return dataset
        self._dataset_wrapped = True
        size = self.distributed.size
        if size == 1 or not isinstance(dataset, tf.data.Dataset):
            return dataset
        if not shard_dataset:
            _log.info("each rank gets the whole Dataset, because shard_dataset is False")
            return dataset
        return dataset.shard(size, self.distributed.rank)

    def make_metric(
        self,
        metric: Any,
        reducer: _reducer.MetricReducer | Callable[[list[Any]], Any],
        numpy_dtype: Any,
    ) -> tuple[Any, Any]:
        """Makes a metric for `eval_metric_ops` from all batches of all ranks.

        Args:
            metric: A tensor, a list of tensors, or a dict of tensors by name. Reducers get arrays.
            reducer: A MetricReducer, or a function of the list of values of all batches.
            numpy_dtype: The dtype of the array that the result becomes.

        Raises:
            TypeError: `metric` is none of these.
        """
        return _reducer.make_metric(
            self.distributed, self._note_failure, metric, reducer, numpy_dtype
        )

    def _note_failure(self, failure: BaseException) -> None:
        self._failure = failure


class EstimatorTrialContext(EstimatorContext):
    """The context of an EstimatorTrial."""

    _trial = "EstimatorTrial"
