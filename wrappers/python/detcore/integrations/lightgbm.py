"""Runs LightGBM models as trials: metrics, checkpoints, pauses and the search, by one callback.

    callback = DetCallback(context)
    for operation in callback.operations():
        lightgbm.train(
            parameters, data, operation.length - callback.rounds, valid_sets=[data, held_back],
            init_model=callback.booster, callbacks=[callback],
        )

docs/integrations.md has a complete example.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from detcore.integrations._trial import TrialCallback

try:
    import lightgbm
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.lightgbm needs LightGBM ({missing}): pip install lightgbm"
    ) from missing

if TYPE_CHECKING:
    from detcore.core import Context, SearcherOperation

FILE = "model.txt"


class DetCallback(TrialCallback):
    """Reports the evaluations of each round, by names such as valid_0-l2, and saves the model.

    Evaluations of the training data are training metrics. Others are validation metrics. It saves a
    checkpoint after the last round, and when the trial is asked to stop.

    Args:
        context: The run.
        metric: The metric of the search. None: `searcher.metric` of the configuration.
        checkpoint_every: The rounds between checkpoints.
    """

    #: It runs before early_stopping(), which ends a round for later callbacks.
    order = 25

    def __init__(
        self, context: Context, *, metric: str | None = None, checkpoint_every: int = 10
    ) -> None:
        super().__init__(context, metric)
        self._checkpoint_every = checkpoint_every
        #: The model to resume from, for `init_model`. None at first. After training, the new model.
        self.booster: lightgbm.Booster | None = None
        with self._restored() as path:
            if path is not None:
                self.booster = lightgbm.Booster(model_file=path / FILE)

    @property
    def rounds(self) -> int:
        """The boosting rounds of the trial so far."""
        return self.steps

    def operations(self) -> Iterator[SearcherOperation]:
        for operation in super().operations():
            yield operation
            self._save_model()

    def __call__(self, env: Any) -> None:
        self.booster = env.model
        self.steps = self.epochs = env.iteration + 1
        groups: dict[str, dict[str, float]] = {"training": {}, "validation": {}}
        for data, name, value, *_ in env.evaluation_result_list or ():
            training = data == env.model._train_data_name
            groups["training" if training else "validation"][f"{data}-{name}"] = value
        for group, values in groups.items():
            self._report(group, values)
        self._report_progress()
        if self._asked_to_stop() or self.steps % self._checkpoint_every == 0:
            self._save_model()
        if self.preempted:
            raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)

    def _save_model(self) -> None:
        booster = self.booster
        if booster is not None:  # all of its trees, not only those up to the best round
            self._save(lambda path: booster.save_model(path / FILE, num_iteration=-1))
