"""Trains a small network on handwritten digits on several ranks.

Each rank takes its share of every batch. You can stop the job and resume it on any number of ranks.

    mpirun -n 4 python3 distributed.py
    torchrun --nproc_per_node 4 distributed.py
    srun --ntasks 4 python3 distributed.py

Set DET_EXTERNAL_ID to a name of your choice. Every start with this name continues the same trial.
"""

from __future__ import annotations

import signal
import sys

import numpy as np
from detcore import core
from digits import CONFIG, IMAGES
from digits_model import Dataset, Model

EPOCHS = 10
BATCH = 64


def train(context: core.Context, ranks: core.DistributedContext) -> None:
    assert context.info is not None
    data, trial = Dataset(IMAGES), context.info.trial
    model = Model(trial.hparams["hidden_size"], trial.trial_seed)
    epoch = 0
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            stored = np.load(path / "model.npz")
            epoch = int(stored["epoch"])
            model.weights, model.velocity = stored["weights"], stored["velocity"]

    for operation in context.searcher.operations():  # the same on all ranks
        while epoch < operation.length:
            order = np.random.default_rng([trial.trial_seed, epoch]).permutation(len(data.labels))
            for batch in np.array_split(order, len(order) // BATCH):
                mine = batch[ranks.rank :: ranks.size]
                _, gradient = model.gradient(data.images[mine], data.labels[mine])
                total = np.sum(ranks.allgather(gradient), axis=0)
                model.step(total / len(batch), trial.hparams)
            epoch += 1
            loss, accuracy = model.evaluate(data.test_images, data.test_labels)
            metadata = {"steps_completed": epoch}
            if ranks.rank == 0:
                metrics = {"loss": loss, "accuracy": accuracy}
                context.train.report_validation_metrics(epoch, metrics)
                with context.checkpoint.store_path(metadata) as (path, _):
                    np.savez(
                        path / "model.npz", epoch=epoch, weights=model.weights,
                        velocity=model.velocity,
                    )  # fmt: skip
            if context.preempt.should_preempt():  # the chief decides for all
                return
        if ranks.rank == 0:
            operation.report_completed(accuracy)
            print(f"accuracy {accuracy:.4f} on {ranks.size} ranks")


def main() -> int:
    config = {**CONFIG, "searcher": {**CONFIG["searcher"], "max_length": {"epochs": EPOCHS}}}
    ranks = core.DistributedContext.from_env()
    with core.init(distributed=ranks, config=config, preempt_signals=[signal.SIGTERM]) as context:
        train(context, ranks)
    ranks.allgather(None)  # mpirun ends the other ranks if one exits with a status that is not 0
    ranks.close()
    return context.exit_status  # not 0 if more work remains


if __name__ == "__main__":
    sys.exit(main())
