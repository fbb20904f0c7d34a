"""Runs Lightning as trials: metrics, checkpoints, pauses and the search.

It has a logger, a plugin and a callback. It works with lightning.pytorch and pytorch_lightning.

    callback = DetCallback(context)
    for operation in callback.operations():
        trainer = Trainer(
            max_epochs=operation.length, logger=DetLogger(context),
            plugins=[DetCheckpointIO(context)], callbacks=[callback],
        )
        trainer.fit(model, data, ckpt_path=callback.ckpt_path)

docs/integrations.md has a complete example.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detcore.integrations._trial import Reports, TrialCallback, numbers

try:
    # The packages do not know each other's classes. The one that the program uses counts.
    if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
        import pytorch_lightning as lightning
    else:
        try:
            import lightning.pytorch as lightning
        except ImportError:
            import pytorch_lightning as lightning
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.lightning needs PyTorch Lightning ({missing}): pip install lightning"
    ) from missing

if TYPE_CHECKING:
    from detcore.core import Context, SearcherOperation

FILE = "lightning.ckpt"


class DetLogger(lightning.loggers.Logger):  # type: ignore[misc]
    """Reports the metrics that modules log, and keeps hyperparameters as metadata of the trial.

    Names that begin with "val" are validation metrics, and names with "test" are test metrics. All
    others are training metrics.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._reports = Reports(context)
        self._steps = 0

    @property
    def name(self) -> str:
        return "detcore"

    @property
    def version(self) -> int:
        return self._context.info.trial.trial_id

    @property
    def experiment(self) -> Context:
        return self._context

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        # Lightning counts from 0. It logs at step 0 when one step is complete.
        self._steps = self._steps if step is None else step + 1
        groups: dict[str, dict[str, Any]] = {}
        for name, value in metrics.items():
            if name != "epoch":
                groups.setdefault(_group(name), {})[name] = value
        for group, values in groups.items():
            self._reports.report(group, self._steps, values)

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        values = vars(params) if isinstance(params, argparse.Namespace) else dict(params)
        if self._context.distributed.rank == 0 and values:
            kept = self._context.train.get_metadata()
            plain = {name: _plain(value) for name, value in values.items()}
            self._context.train.set_metadata({**kept, "hyperparameters": plain})

    def finalize(self, status: str) -> None:
        if self._context.distributed.rank == 0:
            self._context.train.set_status(status)


class DetCheckpointIO(lightning.plugins.io.TorchCheckpointIO):  # type: ignore[misc]
    """Keeps every checkpoint of Lightning in the trial's storage.

    It finds a checkpoint by its path or its storage id.
    """

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._ids: dict[str, str] = {}

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        facts = checkpoint.get("callbacks", {}).get(DetCallback.__qualname__, {})
        metadata = {**facts, "steps_completed": checkpoint["global_step"]}
        with self._context.checkpoint.store_path(metadata) as (folder, storage_id):
            super().save_checkpoint(checkpoint, folder / FILE, storage_options)
        self._ids[str(path)] = storage_id

    def load_checkpoint(self, path: str | Path, *options: Any, **named: Any) -> dict[str, Any]:
        storage_id = self._ids.get(str(path), str(path))
        with self._context.checkpoint.restore_path(storage_id) as folder:
            loaded: dict[str, Any] = super().load_checkpoint(folder / FILE, *options, **named)
        return loaded

    def remove_checkpoint(self, path: str | Path) -> None:
        storage_id = self._ids.pop(str(path), None)
        if storage_id is not None:
            self._context.checkpoint.delete(storage_id)


class DetCallback(TrialCallback, lightning.callbacks.Checkpoint):  # type: ignore[misc]
    """Saves checkpoints, and stops when the trial is asked to. It takes the place of
    ModelCheckpoint.

    It saves a checkpoint after the last epoch, and when the trial is asked to stop. SIGTERM asks
    too. A trial stops at the end of an epoch. If epochs are long, make them shorter by
    `limit_train_batches`.

    Args:
        context: The run.
        metric: The metric of the search, by the name that the module logs. None: `searcher.metric`
            of the configuration.
        checkpoint_every: The epochs between checkpoints.
    """

    def __init__(
        self, context: Context, *, metric: str | None = None, checkpoint_every: int = 1
    ) -> None:
        lightning.callbacks.Checkpoint.__init__(self)
        TrialCallback.__init__(self, context, metric)
        self._checkpoint_every = checkpoint_every
        #: The checkpoint for `Trainer.fit()` to resume from. None at the beginning.
        self.ckpt_path = self.latest_checkpoint
        self._interrupt: BaseException | None = None
        self._take_sigterm()

    def operations(self) -> Iterator[SearcherOperation]:
        for operation in super().operations():
            yield operation
            if self._interrupt is not None:
                raise self._interrupt
            self.ckpt_path = self.context.distributed.broadcast(self.ckpt_path)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if not isinstance(trainer.strategy.checkpoint_io, DetCheckpointIO):
            raise ValueError(
                "detcore.integrations.lightning.DetCallback needs "
                "Trainer(plugins=[DetCheckpointIO(context)]), which keeps the checkpoints"
            )

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._take_sigterm()

    def _take_sigterm(self) -> None:
        # Lightning's own handler ends the process at the next batch. It saves nothing, and exits
        # with 0.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: self.context.preempt.request())

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        # After Ctrl-C fit() returns as if it had finished.
        if isinstance(exception, KeyboardInterrupt):
            self._interrupt = exception

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self.validation = dict(numbers(trainer.callback_metrics))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.steps, self.epochs = trainer.global_step, trainer.current_epoch + 1
        self._report_progress()
        if self._asked_to_stop():
            trainer.should_stop = True
        last = trainer.should_stop or self.epochs == trainer.max_epochs
        if last or self.epochs % self._checkpoint_every == 0:
            self._save_state(trainer)

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "validation": self.validation}

    def _save_state(self, trainer: Any) -> None:
        """Saves a checkpoint. All ranks call it."""
        if self._saved == self.steps:
            return
        self._saved = self.steps
        path = f"{self.steps} steps"
        trainer.save_checkpoint(path)
        self.ckpt_path = trainer.strategy.checkpoint_io._ids.get(path)


def _group(name: str) -> str:
    if name.startswith("val"):
        return "validation"
    return "test" if name.startswith("test") else "training"


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
