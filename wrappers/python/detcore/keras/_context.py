"""The context that a TFKerasTrial gets when it is made."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from typing import Any

from detcore.keras._tensorflow import tf
from detcore.trial import (
    CheckFailedError,
    InvalidDataTypeException,
    InvalidExperimentException,
    TrialContext,
)
from detcore.trial._dataset_cache import DatasetCaching

_log = logging.getLogger("detcore.keras")
_NOT_GIVEN: Any = object()


@dataclasses.dataclass
class FitOptions:
    """The options that configure_fit() collects."""

    verbose: bool = True
    class_weight: Any = None
    workers: int = 1
    use_multiprocessing: bool = False
    max_queue_size: int = 10
    shuffle: bool = True
    validation_steps: Any = None


class TFKerasExperimentalContext(DatasetCaching):
    """Caches slow datasets: `context.experimental`."""


class TFKerasTrialContext(TrialContext):
    """The context of a TFKerasTrial. A trial passes its model, optimizers and datasets through
    it."""

    _trial = "TFKerasTrial"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.experimental = TFKerasExperimentalContext(self)
        self._fit = FitOptions()
        self._model: Any = None
        self._compile_arguments: inspect.BoundArguments | None = None
        self._wrapped_optimizers: list[Any] = []
        self._dataset_wrapped = False

    def configure_fit(
        self,
        verbose: bool | None = None,
        class_weight: Any = _NOT_GIVEN,
        workers: int | None = None,
        use_multiprocessing: bool | None = None,
        max_queue_size: int | None = None,
        shuffle: bool | None = None,
        validation_steps: Any = _NOT_GIVEN,
    ) -> None:
        """Sets arguments of `model.fit()`. They mean the same as in Keras.

        Arguments that a call leaves out keep their values.
        """
        given = {
            "verbose": verbose,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
            "max_queue_size": max_queue_size,
            "shuffle": shuffle,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        for name, value in (("class_weight", class_weight), ("validation_steps", validation_steps)):
            if value is not _NOT_GIVEN:  # None is a value of these
                changes[name] = value
        for name, value in changes.items():
            setattr(self._fit, name, value)

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

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Registers an optimizer of the trial. Use the optimizer that it returns."""
        if not self.env.managed_training:
            return optimizer
        self._wrapped_optimizers.append(optimizer)
        return optimizer

    def wrap_model(self, model: Any) -> Any:
        """Registers the model before it is compiled. Compile the model that it returns."""
        if not self.env.managed_training:
            return model
        self._model = model
        return _WrappedModel(self, model)

    def _compile(self) -> Any:
        """Returns the model, compiled with the trial's arguments."""
        if self._model is None:
            raise CheckFailedError(
                "build_model() did not call context.wrap_model(); pass the model through it, and "
                "compile what it returns"
            )
        if self._compile_arguments is None:
            raise CheckFailedError(
                "the model was not compiled: call compile() of what context.wrap_model() returned"
            )
        bound = self._compile_arguments
        self._model.compile(*bound.args, **bound.kwargs)
        return self._model

    def _optimizers(self) -> list[Any]:
        """Returns the optimizers that checkpoints keep, in the order in which they were wrapped."""
        if self._wrapped_optimizers:
            return self._wrapped_optimizers
        _log.info("no optimizer was passed to wrap_optimizer(); taking that of compile()")
        return [self._model.optimizer]


class _WrappedModel:
    """The model that wrap_model() returns. It only notes the calls of compile() and fit()."""

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
        """Notes the arguments. The model is compiled later, when its optimizers are known."""
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
        """Trains nothing, because a trial is trained by workloads. It rejects wrong calls."""
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
