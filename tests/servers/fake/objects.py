"""Trials, experiments and checkpoints as answers show them."""

import json
import math

from .message import NUMBER_TEXTS, is_number
from .metrics import best_validation, validations
from .routes import V38
from .world import time_text


def number(value):
    """A number that may be none."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _validation(found):
    if found is None:
        return None
    row = found[0]
    return {"endTime": row.time, "metrics": {"avgMetrics": row.values, "batchMetrics": row.batches},
            "numInputs": 0, "totalBatches": row.step}


def _kind(value):
    if is_number(value) or value in NUMBER_TEXTS:
        return "number"
    return {bool: "boolean", dict: "object", list: "array"}.get(type(value), "string")


def _summary(rows, name):
    values = [row.values[name] for row in rows if row.values.get(name) is not None]
    last = rows[-1].values.get(name)
    kinds = {_kind(value) for value in values} or {"null"}
    if kinds != {"number"}:
        return {"type": kinds.pop() if len(kinds) == 1 else "string", "last": last}
    numbers = [float(value) for value in values]
    total, least, most = sum(numbers), min(numbers), max(numbers)
    if not math.isfinite(total):  # one such number spoils all
        least = most = total
    return {"type": "number", "count": len(numbers), "sum": number(total), "min": number(least),
            "max": number(most), "mean": number(total / len(numbers)), "last": last}


def summary_metrics(trial):
    groups = {}
    for row in trial.current.values():
        groups.setdefault(row.group, []).append(row)
    names = {"training": "avg_metrics", "validation": "validation_metrics"}
    return {names.get(group, group): {
        name: _summary(rows, name) for name in {name: 0 for row in rows for name in row.values}}
        for group, rows in groups.items()}


def checkpoints_of(world, trial):
    return [found for found in world.checkpoints.values() if found["taskId"] == trial.task_id]


def trial_object(world, trial):
    smaller = trial.experiment.searcher.get("smaller_is_better", True)
    checkpoints = checkpoints_of(world, trial)
    sizes = [int(size) for found in checkpoints for size in found["resources"].values()]
    shown = {
        "id": trial.id, "experimentId": trial.experiment.id,
        "startTime": time_text(trial.start_time), "endTime": time_text(trial.end_time),
        "state": trial.state, "restarts": 0, "hparams": trial.hparams,
        "totalBatchesProcessed": max((row.step for row in trial.current.values()), default=0),
        "bestValidation": _validation(best_validation([trial], smaller)),
        "latestValidation": _validation((validations(trial) or [None])[-1]),
        "bestCheckpoint": None,
        "runnerState": trial.statuses[-1] if trial.statuses else "", "wallClockTime": 0,
        "warmStartCheckpointUuid": "", "taskId": trial.task_id,
        "totalCheckpointSize": str(sum(sizes)), "checkpointCount": len(checkpoints),
        "summaryMetrics": summary_metrics(trial), "taskIds": [trial.task_id],
        "searcherMetricValue": 0,
    }
    if world.version >= V38 and trial.metadata:
        shown["metadata"] = trial.metadata
    return shown


def experiment_object(experiment):
    config = experiment.config
    return {
        "id": experiment.id, "description": config.get("description") or "",
        "labels": config.get("labels") or [], "startTime": time_text(experiment.start_time),
        "endTime": time_text(experiment.end_time), "state": experiment.state, "archived": False,
        "numTrials": len(experiment.trials), "trialIds": [trial.id for trial in experiment.trials],
        "displayName": "", "userId": 1, "username": "admin", "resourcePool": "",
        "searcherType": json.dumps(experiment.searcher.get("name", "")), "searcherMetric": "",
        "hyperparameters": None, "name": config.get("name") or "", "notes": "",
        "jobId": experiment.job_id, "forkedFrom": None, "progress": experiment.progress or 0,
        "projectId": 1, "projectName": "Uncategorized", "workspaceId": 1,
        "workspaceName": "Uncategorized", "parentArchived": False, "config": config,
        "originalConfig": experiment.config_text, "projectOwnerId": 1, "checkpointSize": "0",
        "checkpointCount": 0, "unmanaged": not experiment.is_managed, "modelDefinitionSize": 0,
        **({"externalExperimentId": experiment.external_id} if experiment.external_id else {}),
    }


def _metrics_at(trial, group, step):
    row = trial.current.get((group, step))
    return {"avgMetrics": row.values if row else {}, "batchMetrics": row.batches if row else []}


def checkpoint_object(world, checkpoint):
    trial = world.task_trial(checkpoint["taskId"])
    step = checkpoint["metadata"].get("steps_completed")
    searched = _metrics_at(trial, "validation", step)["avgMetrics"].get(
        trial.experiment.searcher.get("metric"))
    shown = {name: checkpoint[name] for name in (
        "taskId", "uuid", "reportTime", "resources", "metadata", "state")}
    shown["training"] = {
        "trialId": trial.id, "experimentId": trial.experiment.id,
        "experimentConfig": trial.experiment.config, "hparams": trial.hparams,
        "trainingMetrics": _metrics_at(trial, "training", step),
        "validationMetrics": _metrics_at(trial, "validation", step), "searcherMetric": searched,
    }
    for name in ("allocationId", "storageId"):
        if checkpoint.get(name):
            shown[name] = checkpoint[name]
    return shown
