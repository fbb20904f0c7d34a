"""What a context gives under `experimental`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detcore.trial._dataset_cache import DatasetCaching

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.estimator._context import EstimatorContext
    from detcore.estimator._reducer import MetricReducer


class EstimatorExperimentalContext(DatasetCaching):
    """The features of the context that were experiments once."""

    _context: EstimatorContext

    def make_metric(
        self,
        metric: Any,
        reducer: MetricReducer | Callable[[list[Any]], Any],
        numpy_dtype: Any,
    ) -> tuple[Any, Any]:
        """As that of the context."""
        return self._context.make_metric(metric, reducer, numpy_dtype)
