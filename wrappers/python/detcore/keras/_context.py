"""What a TFKerasTrial is given when it is made."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from detcore.keras._fit_options import FitOptions
from detcore.keras._tensorflow import tf
from detcore.keras._wrapped_model import _WrappedModel
from detcore.trial import CheckFailedError, TrialContext
from detcore.trial._dataset_cache import DatasetCaching

if TYPE_CHECKING:
    import inspect

_log = logging.getLogger("detcore.keras")
_NOT_GIVEN: Any = object()


class TFKerasExperimentalContext(DatasetCaching):
    """What a context gives under `experimental`."""


class TFKerasTrialContext(TrialContext):
    """TrialContext, and what a trial passes its model, its optimizers and its datasets through."""

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
        """Parameters of `model.fit()`, with its meanings. What a call does not give stays."""
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

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """For each optimizer of the trial; use what it returns."""
        if not self.env.managed_training:
            return optimizer
        self._wrapped_optimizers.append(optimizer)
        return optimizer

    def wrap_model(self, model: Any) -> Any:
        """For the model, before it is compiled; compile what this returns."""
        if not self.env.managed_training:
            return model
        self._model = model
        return _WrappedModel(self, model)

    def _compile(self) -> Any:
        """The model, compiled as the trial asked for."""
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
        """Those that checkpoints keep, in the order in which they were wrapped."""
        if self._wrapped_optimizers:
            return self._wrapped_optimizers
        _log.info("no optimizer was passed to wrap_optimizer(); taking that of compile()")
        return [self._model.optimizer]
