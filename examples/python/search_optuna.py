"""Searches for hyperparameters with Optuna: TPE chooses them, and a pruner stops bad trials.

    python search_optuna.py [DIRECTORY]

The same file is the search and its trials: `det run` starts it for each trial. After a crash or
Ctrl-C, the same command resumes the search. Needs NumPy and Optuna.
"""

import sys

import detcore
import optuna
from detcore import core
from detcore.search import LocalSearchRunner
from detcore.search.optuna import OptunaSearch
from softmax import Softmax

CONFIG = {
    "name": "digits by TPE",
    "searcher": {"name": "custom", "metric": "error", "smaller_is_better": True},
    "hyperparameters": {
        "learning_rate": {"type": "log", "base": 10, "minval": -3, "maxval": 0.5},
        "momentum": {"type": "double", "minval": 0, "maxval": 0.98},
        "batch_size": {"type": "categorical", "vals": [32, 128, 512]},
    },
    "max_restarts": 2,
}


def train() -> None:
    with core.init() as context:
        info = context.info
        hparams = info.trial.hparams
        model, epochs = Softmax(info.trial.trial_seed), 0
        if info.latest_checkpoint is not None:
            with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                epochs = model.load(path)
        for operation in context.searcher.operations():
            while epochs < operation.length:
                loss = model.train(**hparams)
                epochs += 1
                context.train.report_training_metrics(epochs, {"loss": loss})
            with context.checkpoint.store_path({"steps_completed": epochs}) as (path, _):
                model.save(path, epochs)
            error = model.error()
            context.train.report_validation_metrics(epochs, {"error": error})
            operation.report_completed(error)


def search(directory: str) -> None:
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=1, n_startup_trials=4),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=2),
    )
    hyperparameters = CONFIG["hyperparameters"]
    method = OptunaSearch(
        study,
        hyperparameters,
        max_trials=10,
        max_length=6,
        period=2,
        max_concurrent_trials=2,
    )
    LocalSearchRunner(method, directory).run(CONFIG, command=[sys.executable, __file__])
    for trial in method.study.trials:
        print(f"{trial.number:2} {trial.state.name:8} {trial.value} {trial.params}")
    print("best", method.study.best_value, method.study.best_params)


if __name__ == "__main__":
    if detcore.get_cluster_info() is None:
        search(sys.argv[1] if len(sys.argv) > 1 else "optuna-search")
    else:
        train()
