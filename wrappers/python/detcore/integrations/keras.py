"""Runs Keras models as trials: metrics, checkpoints, pauses and the search, by one callback.

    callback = DetCallback(context, model)
    for operation in callback.operations():
        model.fit(
            x, y, validation_data=held_back,
            initial_epoch=callback.epochs, epochs=operation.length, callbacks=[callback],
        )

docs/integrations.md has a complete example.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from detcore.integrations._trial import TrialCallback

try:
    if os.environ.get("TF_USE_LEGACY_KERAS", "0").lower() in ("1", "true"):
        import tf_keras as keras
    else:
        import keras
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.keras needs Keras ({missing}): pip install tensorflow, or keras "
        "with another backend"
    ) from missing

if TYPE_CHECKING:
    from detcore.core import Context

FILE = "model.keras"


class DetCallback(TrialCallback, keras.callbacks.Callback):  # type: ignore[misc]
    """Reports the metrics of `model.fit()`, and saves and restores the model with its optimizer.

    It saves a checkpoint after the last epoch, and when the trial is asked to stop. A trial stops
    at the end of an epoch. If epochs are long, make them shorter by `steps_per_epoch` of `fit()`.

    Args:
        context: The run.
        model: The model. It must be compiled and have its weights.
        metric: The metric of the search, such as val_loss. None: `searcher.metric` of the
            configuration.
        report_every: The batches between reports of training. None: each epoch.
        checkpoint_every: The epochs between checkpoints.
    """

    def __init__(
        self,
        context: Context,
        model: Any,
        *,
        metric: str | None = None,
        report_every: int | None = None,
        checkpoint_every: int = 1,
    ) -> None:
        keras.callbacks.Callback.__init__(self)
        TrialCallback.__init__(self, context, metric)
        self._report_every = report_every
        self._checkpoint_every = checkpoint_every
        with self._restored() as path:
            if path is not None:
                model.optimizer.build(model.trainable_variables)
                model.load_weights(path / FILE)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self.steps += 1
        if self._report_every and self.steps % self._report_every == 0:
            self._report("training", logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        self.epochs = epoch + 1
        if not self._report_every:
            self._report("training", {k: v for k, v in logs.items() if not k.startswith("val_")})
        self._report("validation", {k: v for k, v in logs.items() if k.startswith("val_")})
        self._report_progress()
        if self._asked_to_stop():
            self.model.stop_training = True
        if self.preempted or self.epochs % self._checkpoint_every == 0:
            self._save_model()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._save_model()

    def _save_model(self) -> None:
        self._save(lambda path: self.model.save(path / FILE))
