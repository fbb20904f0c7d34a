"""Runs Hugging Face Trainers as trials: metrics, checkpoints, pauses and the search, by one
callback.

    callback = DetCallback(context)
    for operation in callback.operations():
        arguments = TrainingArguments("out", num_train_epochs=operation.length, save_total_limit=1)
        trainer = Trainer(model, arguments, ..., callbacks=[callback])
        trainer.train(resume_from_checkpoint=callback.resume_from_checkpoint("out"))

docs/integrations.md has a complete example.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from detcore.integrations._trial import TrialCallback

try:
    import transformers
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.transformers needs Transformers ({missing}): "
        "pip install transformers"
    ) from missing

if TYPE_CHECKING:
    from detcore.core import Context


class DetCallback(TrialCallback, transformers.TrainerCallback):  # type: ignore[misc]
    """Reports the metrics of a Trainer, and keeps each checkpoint that it saves.

    When the trial is asked to stop, the Trainer saves a checkpoint and stops, at any step.
    `TrainingArguments` set how often it logs, evaluates and saves.

    Args:
        context: The run.
        metric: The metric of the search, such as eval_loss. None: `searcher.metric` of the
            configuration.
    """

    def __init__(self, context: Context, *, metric: str | None = None) -> None:
        transformers.TrainerCallback.__init__(self)
        TrialCallback.__init__(self, context, metric)
        self._folder: Path | None = None

    def resume_from_checkpoint(self, output_dir: str | Path) -> str | None:
        """Brings the checkpoint to resume from into the Trainer's folder, and returns its path.

        It returns None at the beginning of a trial. All ranks call it in step.
        """
        if self._folder is None and self.latest_checkpoint is not None:
            self._folder = Path(output_dir, f"checkpoint-{self.steps}")
            self.context.checkpoint.download(self.latest_checkpoint, self._folder)
        return None if self._folder is None else str(self._folder)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._follow(state)
        self._report_progress()
        if self._asked_to_stop():
            control.should_save = control.should_training_stop = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.preempted:  # at a step: the next run continues this epoch
            control.should_log = control.should_evaluate = control.should_save = False
        elif state.global_step >= state.max_steps:
            control.should_save = True

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self._follow(state)
        # Names with train_ sum up this run. The trial may have had other runs.
        metrics = {k: v for k, v in (logs or {}).items() if not k.startswith(("eval_", "train_"))}
        if metrics.keys() - {"epoch", "total_flos"}:
            self._report("training", metrics)

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any
    ) -> None:
        self._follow(state)
        self._report("validation", metrics or {})

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._follow(state)
        folder = self._folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        if self._saved != self.steps and self.is_chief:
            self.context.checkpoint.upload(folder, self._metadata())
        self._saved = self.steps

    def _follow(self, state: Any) -> None:
        self.steps, self.epochs = state.global_step, state.epoch or 0
