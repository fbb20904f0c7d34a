"""What wrap_model() returns."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from detcore.keras._tensorflow import tf
from detcore.trial import InvalidDataTypeException, InvalidExperimentException

if TYPE_CHECKING:
    from detcore.keras._context import TFKerasTrialContext

_log = logging.getLogger("detcore.keras")


class _WrappedModel:
    """A model in all but compile() and fit(), which are noted here for the one who trains."""

    def __init__(self, context: TFKerasTrialContext, model: Any) -> None:
        object.__setattr__(self, "_det_context", context)
        object.__setattr__(self, "_det_model", model)

    @property  # type: ignore[misc] # for isinstance
    def __class__(self) -> Any:
        return type(self._det_model)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_det_model"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._det_model, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._det_model, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._det_model(*arguments, **options)

    def compile(self, *arguments: Any, **options: Any) -> None:
        """Compiled later, when its optimizers are known."""
        bound = inspect.signature(self._det_model.compile).bind(*arguments, **options)
        bound.apply_defaults()
        at_once = bound.arguments.get("steps_per_execution")
        if at_once not in (None, 1):
            raise InvalidExperimentException(
                f"compile(steps_per_execution={at_once!r}): workloads of a trial end between any "
                "two batches; leave it at 1"
            )
        ranks = self._det_context.distributed.size
        if bound.arguments.get("jit_compile") and ranks > 1:
            raise InvalidExperimentException(
                f"compile(jit_compile=True): {ranks} ranks add up their gradients in every batch, "
                "which XLA cannot compile; leave it out, or train with one slot"
            )
        self._det_context._compile_arguments = bound

    def fit(
        self, x: Any = None, y: Any = None, *, validation_data: Any = None, **options: Any
    ) -> None:
        """Trains nothing: a trial is trained workload by workload. Wrong calls are refused."""
        if self._det_context._compile_arguments is None:
            raise InvalidExperimentException(
                "fit() of a model that was not compiled: call its compile() first"
            )
        if validation_data is None:
            raise InvalidExperimentException("fit() of a wrapped model needs validation_data.")
        fed = isinstance(x, (tf.data.Dataset, tf.keras.utils.Sequence))
        if fed and y is not None:
            raise InvalidDataTypeException(
                type(y), f"y is part of x where x is a {type(x).__name__}; leave it out"
            )
        _log.info("model.fit() of a trial trains nothing: the trial is trained by workloads.")

    def fit_generator(self, generator: Any, **options: Any) -> None:
        self.fit(generator, **options)
