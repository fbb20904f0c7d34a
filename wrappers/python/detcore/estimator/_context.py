"""What an EstimatorTrial is given when it is made."""

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
    """The features of the context that were experiments once."""

    _context: EstimatorContext

    def make_metric(
        self,
        metric: Any,
        reducer: _reducer.MetricReducer | Callable[[list[Any]], Any],
        numpy_dtype: Any,
    ) -> tuple[Any, Any]:
        """As that of the context."""
        return self._context.make_metric(metric, reducer, numpy_dtype)


class EstimatorContext(TrialContext):
    """TrialContext, and what a trial passes optimizers, datasets and metrics through."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.experimental = EstimatorExperimentalContext(self)
        self._optimizer_wrapped = False
        self._dataset_wrapped = False
        #: While the graph of a training over ranks is made.
        self._gradients: Gradients | None = None
        #: What a reducer raised, of which TensorFlow passes on a text only.
        self._failure: BaseException | None = None

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """For the optimizer of the trial, as soon as it is made; use what it returns."""
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
        """For every tf.data.Dataset, as soon as it is made: each rank gets its share of it. Without
        `shard_dataset` the trial itself sees to it that ranks are fed differently."""
        if not self.env.managed_training:
            return dataset
        self._dataset_wrapped = True
        size = self.distributed.size
        if size == 1 or not isinstance(dataset, tf.data.Dataset):
            return dataset
        if not shard_dataset:
            _log.info("each rank gets the whole Dataset, since shard_dataset is False")
            return dataset
        return dataset.shard(size, self.distributed.rank)

    def make_metric(
        self,
        metric: Any,
        reducer: _reducer.MetricReducer | Callable[[list[Any]], Any],
        numpy_dtype: Any,
    ) -> tuple[Any, Any]:
        """A metric for `eval_metric_ops`, made of all batches of all ranks.

        `metric` is a tensor, a list of tensors or a dict of tensors by name, which reducers get as
        arrays. `reducer` is a MetricReducer, or a function of the list of the values of all
        batches. What it returns becomes an array of `numpy_dtype`. TypeError: `metric` is none of
        these.
        """
        return _reducer.make_metric(
            self.distributed, self._note_failure, metric, reducer, numpy_dtype
        )

    def _note_failure(self, failure: BaseException) -> None:
        self._failure = failure


class EstimatorTrialContext(EstimatorContext):
    """The context of an EstimatorTrial."""

    _trial = "EstimatorTrial"
