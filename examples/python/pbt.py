"""Searches with population-based training: bad trials are replaced by copies of good ones.

    python pbt.py [DIRECTORY]

After each generation the worse half of the trials ends. A new trial replaces each of them. It
starts from the checkpoint of a trial of the better half (exploit), with hyperparameters that differ
a little (explore).

The same file is the search and its trials: `det run` starts it for each trial. After a crash or
Ctrl-C, the same command resumes the search. Needs NumPy.
"""

import random
import sys
import uuid

import detcore
from detcore import core
from detcore.search import Close, Create, LocalSearchRunner, SearchMethod, Shutdown, ValidateAfter
from softmax import Softmax

POPULATION, GENERATIONS, EPOCHS = 4, 3, 2
CONFIG = {
    "name": "digits by PBT",
    "searcher": {"name": "custom", "metric": "error", "smaller_is_better": True},
    "max_restarts": 2,
}


def train() -> None:
    with core.init() as context:
        info = context.info
        hparams = dict(info.trial.hparams)
        source = hparams.pop("source")
        model, epochs = Softmax(info.trial.trial_seed), 0
        if info.latest_checkpoint is not None:
            with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                epochs = model.load(path)
        elif source is not None:
            with context.checkpoint.restore_path(source) as path:
                model.load(path)  # the epochs of another trial do not count
        for operation in context.searcher.operations():
            while epochs < operation.length:
                loss = model.train(batch_size=64, **hparams)
                epochs += 1
                context.train.report_training_metrics(epochs, {"loss": loss})
            with context.checkpoint.store_path({"steps_completed": epochs}) as (path, checkpoint):
                model.save(path, epochs)
            error = model.error()
            context.train.report_validation_metrics(epochs, {"error": error})
            # Your own search method may use any JSON as a metric.
            operation.report_completed({"error": error, "checkpoint": checkpoint})


class PopulationBasedTraining(SearchMethod):
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.members = {}  # hyperparameters and length of each trial of the population
        self.results = {}  # of this generation
        self.generation = 1
        self.history = []

    def initial_operations(self, searcher_state):
        return [
            operation
            for _ in range(POPULATION)
            for operation in self._create(
                10 ** self.random.uniform(-4, -1), self.random.uniform(0, 0.9), None
            )
        ]

    def on_trial_created(self, searcher_state, request_id):
        return []

    def on_validation_completed(self, searcher_state, request_id, metric, train_length):
        self.results[request_id] = metric
        return self._next_generation()

    def on_trial_exited_early(self, searcher_state, request_id, exited_reason):
        if request_id not in self.members:
            return []
        self.results[request_id] = {"error": 1.0, "checkpoint": None}
        return self._next_generation()

    def on_trial_closed(self, searcher_state, request_id):
        over = self.generation > GENERATIONS
        everyone = searcher_state.trials_closed == searcher_state.trials_created
        return [Shutdown()] if over and everyone else []

    def progress(self, searcher_state):
        return (self.generation - 1) / GENERATIONS

    def _next_generation(self):
        if len(self.results) < len(self.members):
            return []
        ranking = sorted(self.results, key=lambda trial: self.results[trial]["error"])
        self.history.append(self.results[ranking[0]]["error"])
        self.generation += 1
        results, self.results = self.results, {}
        if self.generation > GENERATIONS:
            return [Close(trial) for trial in ranking]
        better, worse = ranking[: POPULATION // 2], ranking[POPULATION // 2 :]
        operations = []
        for trial in better:
            self.members[trial]["length"] += EPOCHS
            operations.append(ValidateAfter(trial, self.members[trial]["length"]))
        for trial in worse:
            del self.members[trial]
            model = self.random.choice(better)
            beside = self.members[model]
            operations.append(Close(trial))
            operations += self._create(
                beside["learning_rate"] * self.random.choice([0.5, 2]),
                min(beside["momentum"] * self.random.choice([0.8, 1.2]), 0.98),
                results[model]["checkpoint"],
            )
        return operations

    def _create(self, learning_rate, momentum, source):
        trial = uuid.uuid4()
        hparams = {"learning_rate": learning_rate, "momentum": momentum}
        self.members[trial] = {**hparams, "length": EPOCHS}
        return [Create(trial, {**hparams, "source": source}), ValidateAfter(trial, EPOCHS)]


def search(directory: str) -> None:
    method = PopulationBasedTraining(seed=1)
    LocalSearchRunner(method, directory).run(CONFIG, command=[sys.executable, __file__])
    print("best error of each generation:", *(f"{error:.3f}" for error in method.history))


if __name__ == "__main__":
    if detcore.get_cluster_info() is None:
        search(sys.argv[1] if len(sys.argv) > 1 else "pbt")
    else:
        train()
