"""Hooks of a training that also hear of checkpoints."""

from __future__ import annotations

from detcore.trial._tensorflow import tf


class RunHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """A SessionRunHook for the hooks of a TrainSpec. Its end() is not called, for the training of a
    trial does not end by itself: on_trial_close() is."""

    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        """On every rank, before training, where it goes on from a checkpoint: that is in
        `checkpoint_dir`."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """On the chief, in each checkpoint, behind what TensorFlow wrote. Files that are added in
        `checkpoint_dir` are a part of it."""

    def on_trial_close(self) -> None:
        """On every rank, when training ends, also when it fails."""
