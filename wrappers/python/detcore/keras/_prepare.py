"""Prepares a trial for its controller."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from detcore.keras import _data, _layer_random
from detcore.keras._tensorflow import tf
from detcore.keras.callbacks import Callback, TensorBoard
from detcore.keras.callbacks._history import History
from detcore.keras.callbacks._progress import Progress
from detcore.trial import CheckFailedError, _random_state

if TYPE_CHECKING:
    from detcore.keras._context import TFKerasTrialContext

_log = logging.getLogger("detcore.keras")


class Builder(Protocol):
    """The part of a TFKerasTrial that builds its model and its data."""

    def __init__(self, context: Any) -> None: ...
    def build_model(self) -> Any: ...
    def build_training_data_loader(self) -> Any: ...
    def build_validation_data_loader(self) -> Any: ...
    def session_config(self) -> Any: ...
    def keras_callbacks(self) -> list[Any]: ...


def seed(trial_seed: int) -> None:
    """Seeds all generators, the same on every rank, so that all ranks build the same model."""
    tf.keras.backend.clear_session()
    _random_state.seed(trial_seed)
    _layer_random.use_generators()


def devices(session_config: Any, local_rank: int) -> None:
    """Gives each rank of a machine one GPU. Its memory is taken when needed."""
    if not tf.executing_eagerly():
        session_config.gpu_options.allow_growth = True
        session_config.gpu_options.visible_device_list = str(local_rank)
        tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config=session_config))
        return
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        gpu = gpus[local_rank % len(gpus)]
        tf.config.set_visible_devices(gpu, "GPU")
        tf.config.experimental.set_memory_growth(gpu, True)


def data(trial: Builder, context: TFKerasTrialContext) -> tuple[Any, Any]:
    batch_size = context.get_per_slot_batch_size()
    training = trial.build_training_data_loader()
    training = _data.adapt(training, batch_size)
    validation = trial.build_validation_data_loader()
    return training, _data.adapt(validation, batch_size)


def batches_per_epoch(context: TFKerasTrialContext) -> int | None:
    """Returns the batches of an epoch. None: its length is not configured, so epochs never end."""
    records = context.env.experiment_config.get_records_per_epoch()
    return max(records // context.get_global_batch_size(), 1) if records else None


def callbacks(trial: Builder, context: TFKerasTrialContext) -> list[Any]:
    """Returns the callbacks of the trial, and those that every trial has."""
    given = trial.keras_callbacks() or []
    if not isinstance(given, list):
        raise CheckFailedError(
            f"keras_callbacks() returns a list of callbacks or None, not a {type(given).__name__}"
        )
    if batches_per_epoch(context) is None:
        for callback in given:
            _check_epoch_end(callback)
    for callback in given:
        if isinstance(callback, TensorBoard):
            callback._write_below(context.get_tensorboard_path())
    return [*([Progress()] if context._fit.verbose else []), *given, History()]


def _check_epoch_end(callback: Any) -> None:
    own = type(callback).on_epoch_end is not tf.keras.callbacks.Callback.on_epoch_end
    if not own or getattr(callback, "_skip_epoch_end_check", False):
        return
    name = type(callback).__name__
    if isinstance(callback, Callback):
        raise AssertionError(
            f"{name} defines on_epoch_end(), and the length of an epoch is not known: set "
            "records_per_epoch in the experiment configuration"
        )
    _log.warning(
        "on_epoch_end() of %s is never called, because the length of an epoch is not known: set "
        "records_per_epoch in the experiment configuration",
        name,
    )
