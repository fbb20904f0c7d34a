"""Runs XGBoost models as trials: metrics, checkpoints, pauses and the search, by one callback.

    callback = DetCallback(context)
    for operation in callback.operations():
        xgboost.train(
            parameters, data, operation.length - callback.rounds,
            evals=[(data, "train"), (held_back, "eval")],
            xgb_model=callback.booster, callbacks=[callback],
        )

docs/integrations.md has a complete example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detcore.integrations._trial import TrialCallback

try:
    import xgboost
except ImportError as missing:
    raise ImportError(
        f"detcore.integrations.xgboost needs XGBoost ({missing}): pip install xgboost"
    ) from missing

if TYPE_CHECKING:
    from detcore.core import Context

FILE = "model.ubj"


class DetCallback(TrialCallback, xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Reports the evaluations of each round, by XGBoost's names such as eval-rmse, and saves the
    model.

    Evaluations of data called train or training are training metrics. Others are validation
    metrics. It saves a checkpoint after the last round, and when the trial is asked to stop.

    Args:
        context: The run.
        metric: The metric of the search. None: `searcher.metric` of the configuration.
        checkpoint_every: The rounds between checkpoints.
    """

    def __init__(
        self, context: Context, *, metric: str | None = None, checkpoint_every: int = 10
    ) -> None:
        xgboost.callback.TrainingCallback.__init__(self)
        TrialCallback.__init__(self, context, metric)
        self._checkpoint_every = checkpoint_every
        #: The model to resume from, for `xgb_model`. None at first. After training, the new model.
        self.booster: xgboost.Booster | None = None
        with self._restored() as path:
            if path is not None:
                self.booster = xgboost.Booster(model_file=path / FILE)

    @property
    def rounds(self) -> int:
        """The boosting rounds of the trial so far."""
        return self.steps

    def after_iteration(self, model: Any, epoch: int, evals_log: dict[str, Any]) -> bool:
        self.steps = self.epochs = model.num_boosted_rounds()
        groups: dict[str, dict[str, float]] = {"training": {}, "validation": {}}
        for data, metrics in evals_log.items():
            group = "training" if data in ("train", "training") else "validation"
            groups[group].update({f"{data}-{name}": log[-1] for name, log in metrics.items()})
        for group, values in groups.items():
            self._report(group, values)
        self._report_progress()
        if self._asked_to_stop() or self.steps % self._checkpoint_every == 0:
            self._save_model(model)
        return self.preempted

    def after_training(self, model: Any) -> Any:
        # Another callback may stop the training before this one sees its last round.
        self.steps = self.epochs = model.num_boosted_rounds()
        self._save_model(model)
        self.booster = model
        return model

    def _save_model(self, model: Any) -> None:
        self._save(lambda path: model.save_model(path / FILE))
