"""Trains a small network on handwritten digits, with NumPy alone. It is examples/c/digits.c in
Python.

You can pause or kill the program at any moment. The next start resumes from the latest checkpoint.
The result is the same to the last bit, with or without interruptions.

    python3 digits.py [IMAGES.csv]
    det run ../search/digits.yaml -- python3 digits.py

Hyperparameters: learning_rate, momentum, weight_decay, hidden_size, batch_size.
DIGITS_BATCH_MS adds this number of milliseconds to each batch, so that you can watch.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from detcore import InvalidHP, core
from digits_model import Dataset, Model

CONFIG: dict[str, Any] = {
    "name": "digits",
    "searcher": {
        "name": "single", "metric": "accuracy", "smaller_is_better": False,
        "max_length": {"epochs": 40},
    },
    "hyperparameters": {
        "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 1e-4, "hidden_size": 64,
        "batch_size": 64,
    },
    "reproducibility": {"experiment_seed": 1},
}  # fmt: skip
IMAGES = Path(__file__).parents[1] / "data/digits.csv"


class Training:
    def __init__(self, context: core.Context, data: Dataset) -> None:
        assert context.info is not None
        trial = context.info.trial
        self.context = context
        self.data = data
        self.hparams = {**CONFIG["hyperparameters"], **trial.hparams}
        self.batch_size = self.hparams["batch_size"]
        if not 1 <= self.hparams["hidden_size"] <= 4096:
            raise InvalidHP("hidden_size must be from 1 to 4096")
        if not 1 <= self.batch_size <= len(data.labels):
            raise InvalidHP("batch_size must be from 1 to the number of images")
        self.batches_per_epoch = -(-len(data.labels) // self.batch_size)
        self.seed = trial.trial_seed
        self.model = Model(self.hparams["hidden_size"], self.seed)
        # The state that a later run cannot compute again. It can compute the order of the images
        # from the seed and the epoch.
        self.batches, self.loss = 0, 0.0
        if context.info.latest_checkpoint:
            with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
                self.load(path)

    def load(self, path: Path) -> None:
        with np.load(path / "digits.npz") as stored:
            self.batches, self.loss = int(stored["batches"]), float(stored["loss"])
            self.model.weights, self.model.velocity = stored["weights"], stored["velocity"]

    def save(self) -> None:
        with self.context.checkpoint.store_path({"steps_completed": self.batches}) as (path, _):
            np.savez(
                path / "digits.npz", batches=self.batches, loss=self.loss,
                weights=self.model.weights, velocity=self.model.velocity,
            )  # fmt: skip

    def train_epoch(self) -> bool:
        """Trains to the end of the epoch. Returns False if asked to stop earlier."""
        pause = float(os.environ.get("DIGITS_BATCH_MS", 0)) / 1000
        epoch, done = divmod(self.batches, self.batches_per_epoch)
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.data.labels))
        if done == 0:
            self.loss = 0.0
        for batch in range(done, self.batches_per_epoch):
            if self.context.preempt.should_preempt():
                return False
            chosen = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            loss, gradient = self.model.gradient(self.data.images[chosen], self.data.labels[chosen])
            self.model.step(gradient / len(chosen), self.hparams)
            self.loss += loss
            self.batches += 1
            time.sleep(pause)
        return True

    def report(self) -> None:
        train = self.context.train
        loss, accuracy = self.model.evaluate(self.data.test_images, self.data.test_labels)
        train.report_training_metrics(self.batches, {"loss": self.loss / len(self.data.labels)})
        train.report_validation_metrics(self.batches, {"loss": loss, "accuracy": accuracy})

    def run(self, operation: core.SearcherOperation) -> bool:
        """Trains up to the length of the operation. Returns False if asked to stop earlier."""
        while self.batches < operation.length * self.batches_per_epoch:
            is_whole = self.train_epoch()
            if is_whole:
                self.report()
            self.save()
            if not is_whole:
                return False
            operation.report_progress(self.batches / self.batches_per_epoch)
        loss, accuracy = self.model.evaluate(self.data.test_images, self.data.test_labels)
        operation.report_completed(accuracy)
        print(f"accuracy {accuracy:.4f}, loss {loss:.9f}")
        return True


def main() -> int:
    data = Dataset(sys.argv[1] if len(sys.argv) > 1 else IMAGES)
    # The signal comes from Slurm, Kubernetes or a spot machine.
    with core.init(config=CONFIG, preempt_signals=[signal.SIGTERM]) as context:
        training = Training(context, data)
        for operation in context.searcher.operations():
            if not training.run(operation):
                break
    return context.exit_status  # not 0 if more work remains


if __name__ == "__main__":
    sys.exit(main())
