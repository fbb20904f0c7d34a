"""The facts behind a TrialContext."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from detcore.core._info import ClusterInfo


class ExperimentConfig(dict[str, Any]):
    """The experiment configuration, with methods that return defaults for parts that are missing or
    null."""

    def scheduling_unit(self) -> int:
        """Returns the number of batches of a training workload."""
        return int(_given(self).get("scheduling_unit", 100))

    def slots_per_trial(self) -> int:
        """Returns the number of slots of a trial."""
        return int(_given(self.get("resources")).get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """Returns the seed of the experiment."""
        return int(_given(self.get("reproducibility")).get("experiment_seed", 0))

    def debug_enabled(self) -> bool:
        """Returns True if `debug` is set."""
        return bool(self.get("debug", False))

    def get_records_per_epoch(self) -> int | None:
        """Returns `records_per_epoch`, or None."""
        return self.get("records_per_epoch")

    def get_min_validation_period(self) -> dict[str, int]:
        """Returns the configured time between validations, as {unit: length}, or {}."""
        return self.get("min_validation_period") or {}

    def get_min_checkpoint_period(self) -> dict[str, int]:
        """Returns the configured time between checkpoints, as {unit: length}, or {}."""
        return self.get("min_checkpoint_period") or {}

    def get_searcher_metric(self) -> str:
        """Returns the name of the metric that the search compares."""
        return str(self["searcher"]["metric"])

    def get_optimizations_config(self) -> dict[str, Any]:
        """Returns the `optimizations` section."""
        return _given(self.get("optimizations"))

    def average_training_metrics_enabled(self) -> bool:
        """Returns True if training metrics are averaged over ranks."""
        return bool(self.get_optimizations_config().get("average_training_metrics", True))

    def get_checkpoint_storage(self) -> dict[str, Any]:
        """Returns the `checkpoint_storage` section."""
        return self.get("checkpoint_storage") or {}

    def get_entrypoint(self) -> str | list[str]:
        """Returns the entrypoint, a text or a list of texts."""
        entrypoint = self["entrypoint"]
        parts = entrypoint if isinstance(entrypoint, list) else [entrypoint]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(f"entrypoint is text or a list of texts, not {entrypoint!r}")
        return entrypoint  # type: ignore[no-any-return]


def _given(section: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (section or {}).items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Environment:
    """The facts about a trial, read-only: `context.env`."""

    experiment_config: ExperimentConfig
    hparams: dict[str, Any]
    trial_seed: int = 0
    steps_completed: int = 0
    latest_checkpoint: str | None = None
    #: True if a controller trains the trial. False if its author works with it by hand.
    managed_training: bool = True
    #: True if the trial does one batch of everything, as a test.
    test_mode: bool = False
    on_cluster: bool = False
    debug: bool = False
    use_gpu: bool = False
    container_gpus: list[str] = dataclasses.field(default_factory=list)
    slot_ids: list[int] = dataclasses.field(default_factory=list)
    det_trial_id: str = ""
    det_experiment_id: str = ""
    det_agent_id: str = ""
    det_cluster_id: str = ""
    trial_run_id: int = 0
    allocation_id: str = ""
    master_url: str = ""

    @classmethod
    def of_run(cls, info: ClusterInfo, **others: Any) -> Environment:
        """Makes the facts of a run of core.init(). `others` are fields that a run does not know."""
        trial = info.trial
        return cls(
            ExperimentConfig(trial.config),
            trial.hparams,
            trial_seed=trial.trial_seed,
            steps_completed=trial.steps_completed,
            latest_checkpoint=info.latest_checkpoint,
            on_cluster=bool(info.cluster_id),
            debug=trial.debug,
            use_gpu=bool(info.gpu_uuids),
            container_gpus=info.gpu_uuids,
            slot_ids=info.slot_ids,
            det_trial_id=str(trial.trial_id),
            det_experiment_id=str(trial.experiment_id),
            det_agent_id=info.agent_id,
            det_cluster_id=info.cluster_id,
            trial_run_id=trial.trial_run_id,
            allocation_id=info.allocation_id,
            master_url=info.master_url,
            **others,
        )
