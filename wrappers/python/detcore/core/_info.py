"""Reads the facts about this run that are known before it trains."""

from __future__ import annotations

import json
import os
from typing import Any

from detcore.errors import CorruptError

FILES = "/run/determined/info"

# The facts of cluster.json and of trial.json, the variables with the same facts, and True if a
# variable has JSON.
_CLUSTER = {
    "master_url": ("DET_MASTER", False),
    "cluster_id": ("DET_CLUSTER_ID", False),
    "agent_id": ("DET_AGENT_ID", False),
    "slot_ids": ("DET_SLOT_IDS", True),
    "task_id": ("DET_TASK_ID", False),
    "allocation_id": ("DET_ALLOCATION_ID", False),
    "session_token": ("DET_SESSION_TOKEN", False),
    "task_type": ("DET_TASK_TYPE", False),
    "master_cert_name": ("DET_MASTER_CERT_NAME", False),
    "master_cert_file": ("DET_MASTER_CERT_FILE", False),
    "latest_checkpoint": ("DET_LATEST_CHECKPOINT", False),
}
_TRIAL = {
    "trial_id": ("DET_TRIAL_ID", True),
    "experiment_id": ("DET_EXPERIMENT_ID", True),
    "trial_seed": ("DET_TRIAL_SEED", True),
    "hparams": ("DET_HPARAMS", True),
    "config": ("DET_EXPERIMENT_CONFIG", True),
    "steps_completed": ("DET_STEPS_COMPLETED", True),
    "trial_run_id": ("DET_TRIAL_RUN_ID", True),
    "inter_node_network_interface": ("DET_INTER_NODE_NETWORK_INTERFACE", False),
}


class TrialInfo:
    """The trial that this process trains."""

    def __init__(
        self,
        trial_id: int,
        experiment_id: int,
        trial_seed: int,
        hparams: dict[str, Any],
        config: dict[str, Any],
        steps_completed: int = 0,
        trial_run_id: int = 0,
        debug: bool = False,
        inter_node_network_interface: str | None = None,
    ) -> None:
        self.trial_id = trial_id
        self.experiment_id = experiment_id
        self.trial_seed = trial_seed
        #: The hyperparameters of this trial, nested as in the configuration.
        self.hparams = hparams
        #: The configuration of the experiment.
        self.config = config
        #: The steps of the latest checkpoint.
        self.steps_completed = steps_completed
        #: The number of starts of the trial, this one included.
        self.trial_run_id = trial_run_id
        self.debug = debug
        self.inter_node_network_interface = inter_node_network_interface

    def __repr__(self) -> str:
        return f"TrialInfo(trial_id={self.trial_id}, experiment_id={self.experiment_id})"


class ClusterInfo:
    """The task that this process belongs to, and its place in a cluster. Unknown facts are "" or
    empty."""

    def __init__(
        self,
        facts: dict[str, Any],
        trial: TrialInfo | None = None,
        rendezvous: dict[str, Any] | None = None,
        gpu_uuids: list[str] | None = None,
    ) -> None:
        self.master_url: str = facts.get("master_url") or ""
        self.cluster_id: str = facts.get("cluster_id") or ""
        self.agent_id: str = facts.get("agent_id") or ""
        self.slot_ids: list[int] = facts.get("slot_ids") or []
        self.task_id: str = facts.get("task_id") or ""
        self.allocation_id: str = facts.get("allocation_id") or ""
        self.session_token: str = facts.get("session_token") or ""
        self.task_type: str = facts.get("task_type") or ""
        self.master_cert_name: str | None = facts.get("master_cert_name")
        self.master_cert_file: str | None = facts.get("master_cert_file")
        self._latest_checkpoint: str | None = facts.get("latest_checkpoint") or None
        self._trial = trial
        self._rendezvous = rendezvous
        self.gpu_uuids: list[str] = gpu_uuids or []

    @property
    def trial(self) -> TrialInfo:
        """The trial of this process. RuntimeError if the task is not a trial."""
        if self._trial is None:
            raise RuntimeError(
                f"there is no trial: this process is a task of type {self.task_type!r}"
            )
        return self._trial

    @property
    def latest_checkpoint(self) -> str | None:
        """The storage id of the checkpoint from which the trial resumes, or None at its
        beginning."""
        return self._latest_checkpoint if self._trial is not None else None

    @property
    def user_data(self) -> dict[str, Any]:
        """The `data` section of the configuration."""
        data = self._trial.config.get("data") if self._trial is not None else None
        return data if isinstance(data, dict) else {}

    @property
    def container_addrs(self) -> list[str]:
        """The addresses of all containers of this task."""
        return list(self._met("container_addrs", ["127.0.0.1"]))

    @property
    def container_rank(self) -> int:
        """The number of this container, from 0."""
        return int(self._met("container_rank", 0))

    @property
    def container_slot_counts(self) -> list[int]:
        """The number of slots of each container."""
        return list(self._met("container_slot_counts", [len(self.slot_ids)]))

    def _met(self, name: str, alone: Any) -> Any:
        return (self._rendezvous or {}).get(name, alone)

    def __repr__(self) -> str:
        return f"ClusterInfo(task_type={self.task_type!r}, allocation_id={self.allocation_id!r})"


def get_cluster_info() -> ClusterInfo | None:
    """Returns the facts that a cluster or `det run` gave this process. None if neither started it.

    It contacts no master, and starts nothing.
    """
    folder = os.environ.get("DET_INFO_DIR") or FILES
    facts = _from_file(f"{folder}/cluster.json")
    if facts is None:
        return _from_variables()
    trial = None
    rendezvous = None
    if facts.get("task_type") == "TRIAL":
        trial = _trial(_from_file(f"{folder}/trial.json") or {}, f"{folder}/trial.json")
        rendezvous = _from_file(f"{folder}/rendezvous.json")
    resources = _from_file(f"{folder}/resources.json") or {}
    return ClusterInfo(facts, trial, rendezvous, resources.get("gpu_uuids"))


def of_run(text: str, config: str) -> ClusterInfo:
    """Makes the facts of a run, from det_info_json() and det_info_config_json(), over those of a
    cluster."""
    run = {**json.loads(text), "config": json.loads(config)}
    before = get_cluster_info()
    facts = {**(vars(before) if before is not None else {}), **run, "master_url": run["master"]}
    same_process = before is not None and before.allocation_id == run["allocation_id"]
    return ClusterInfo(
        facts,
        _trial(run, "the run"),
        before._rendezvous if before is not None and same_process else None,
        before.gpu_uuids if before is not None else None,
    )


def _trial(facts: dict[str, Any], origin: object) -> TrialInfo:
    config = facts.get("config") or {}
    try:
        return TrialInfo(
            facts["trial_id"],
            facts["experiment_id"],
            facts["trial_seed"],
            facts.get("hparams") or {},
            config,
            facts.get("steps_completed") or 0,
            facts.get("trial_run_id") or 0,
            bool(facts.get("debug", config.get("debug", False))),
            facts.get("inter_node_network_interface"),
        )
    except KeyError as missing:
        raise CorruptError(f"reading {origin}: it does not say {missing.args[0]}") from None


def _from_file(file: str) -> dict[str, Any] | None:
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        facts = json.loads(text)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):  # the message does not quote it: it may hold a token
        raise CorruptError(
            f"reading '{file}': it is no whole JSON object; a cluster writes this file before it "
            "starts the process"
        )
    return facts


def _from_variables() -> ClusterInfo | None:
    if not os.environ.get("DET_ALLOCATION_ID") or not os.environ.get("DET_TASK_ID"):
        return None
    facts = _values(_CLUSTER)
    if facts.get("task_type") != "TRIAL":
        return ClusterInfo(facts)
    trial = _values(_TRIAL)
    if "trial_id" in trial and not {"hparams", "config"} <= trial.keys():
        trial = {**_of_store(trial), **trial}
    return ClusterInfo(facts, _trial(trial, "the variables DET_*"))


def _of_store(trial: dict[str, Any]) -> dict[str, Any]:
    """Reads hyperparameters and configuration that are too large for a variable."""
    from detcore._capi import handle, library, text

    client = handle("det_client_open", None)
    try:
        found = json.loads(text("det_client_get_trial", client, trial["trial_id"]))
        experiment = json.loads(text("det_client_get_experiment", client, found["experiment_id"]))
    finally:
        library.det_client_free(client)
    return {"hparams": found["hparams"], "config": experiment["config"]}


def _values(names: dict[str, tuple[str, bool]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, (variable, is_json) in names.items():
        text = os.environ.get(variable)
        if text:
            try:
                values[name] = json.loads(text) if is_json else text
            except ValueError:
                raise CorruptError(f"reading the variable {variable}: it is no JSON") from None
    return values
