"""Hooks that also see the checkpoints of a training."""

from __future__ import annotations

from detcore.trial._tensorflow import tf


class RunHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """A SessionRunHook for the hooks of a TrainSpec, which also sees checkpoints.

    Its end() is not called, because the training of a trial does not end by itself. Use
    on_trial_close().
    """

    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        """Called on every rank before a training that resumes from a checkpoint in
        `checkpoint_dir`."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called on the chief in each checkpoint, after TensorFlow has written its files.

        Files that you put into `checkpoint_dir` become part of the checkpoint.
        """

    def on_trial_close(self) -> None:
        """Called on every rank when training ends, also when it fails."""
