"""What a trial tells of itself besides metrics, and what it asks about its experiment."""

import math
import struct

from .message import NOTHING, Message, is_number
from .metrics import best_validation
from .objects import number
from .refusal import Refusal, internal, invalid
from .routes import V33, V38, route

EXIT_REASONS = ["EXITED_REASON_UNSPECIFIED", "EXITED_REASON_INVALID_HP",
                "EXITED_REASON_INIT_INVALID_HP"]
LOG_LEVELS = ["LOG_LEVEL_" + name for name in (
    "UNSPECIFIED", "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")]
STORAGE_KEYS = {  # type → (keys that must be there, keys that may)
    "shared_fs": ({"host_path"}, {"container_path", "checkpoint_path", "tensorboard_path",
                                  "storage_path", "propagation"}),
    "directory": ({"container_path"}, set()),
    "s3": ({"bucket"}, {"access_key", "secret_key", "endpoint_url", "prefix"}),
    "gcs": ({"bucket"}, {"prefix"}),
    "azure": ({"container"}, {"connection_string", "account_url", "credential"}),
}
KEEP_KEYS = {"save_experiment_best", "save_trial_best", "save_trial_latest"}


@route("POST", "/api/v1/runs/start", since=V33)
def start_run(world, call):
    message = Message(call.body)
    trial = world.trial(message.integer("runId", 0))
    storage = message.object("checkpointStorage")
    trial.starts += 1
    if storage is None:
        return {}
    kind = storage.get("type")
    if kind not in STORAGE_KEYS:
        raise internal(f"there is no kind of storage '{kind}'")
    required, optional = STORAGE_KEYS[kind]
    kept = {name: value for name, value in storage.items()
            if name not in KEEP_KEYS and value is not None}
    if not required <= kept.keys() or not kept.keys() <= required | optional | {"type"}:
        raise internal(f"a storage of kind {kind} has other keys")
    if kept not in world.storages:
        world.storages.append(kept)
    return {"storageId": world.storages.index(kept) + 1}


@route("POST", "/api/v1/trials/{trial:int}/progress")
def report_progress(world, call):
    if world.version >= V38:
        message = Message(call.body)
        trial = world.trial(call.path["trial"])
        progress = message.number("progress")
        if not trial.is_managed and not 0 <= progress <= 1:
            raise internal("invalid progress value: it must be in 0…1")
    else:
        progress = 0 if call.body is NOTHING or call.body is None else call.body
        if not is_number(progress):
            raise invalid("the body must be a number")
        trial = world.active_trial(call.path["trial"])
    if not math.isfinite(progress):
        raise invalid("the progress must be a number")
    trial.progress.append(progress)
    trial.experiment.progress = progress
    return {}


@route("POST", "/api/v1/trials/{trial:int}/runner/metadata")
def set_status(world, call):
    state = Message(call.body).text("state")
    world.trial(call.path["trial"]).statuses.append(state)
    return {}


@route("POST", "/api/v1/trials/{trial:int}/early_exit")
def exit_early(world, call):
    reason = Message(call.body).choice("reason", EXIT_REASONS, EXIT_REASONS[0])
    trial = world.active_trial(call.path["trial"])
    if reason == EXIT_REASONS[0]:
        raise internal("the reason of the exit must be told")
    trial.early_exits.append(reason)
    return {}


@route("GET", "/api/v1/experiments/{experiment:int}/searcher/best_searcher_validation_metric")
def best_metric(world, call):
    experiment = world.experiment(call.path["experiment"])
    best = best_validation(experiment.trials, experiment.searcher.get("smaller_is_better", True))
    if best is None:
        raise Refusal(404, f"experiment '{experiment.id}' has no validations")
    return {"metric": number(struct.unpack("f", struct.pack("f", best[1]))[0])}


def _check_metadata(value, depth=1):
    """The number of leaves."""
    if depth > 10:
        raise invalid("the metadata is more than 10 levels deep")
    if isinstance(value, list) and len(value) > 100:
        raise invalid("a list of the metadata has more than 100 entries")
    if isinstance(value, str) and len(value) > 5000:
        raise invalid("a text of the metadata is longer than 5000")
    if isinstance(value, dict):
        for name in value:
            if len(name) > 50 or set(name) & set("$.[]"):
                raise invalid(f"'{name}' cannot be a key of the metadata")
        return sum(_check_metadata(inner, depth + 1) for inner in value.values())
    return 1


@route("POST", "/api/v1/runs/{run:int}/metadata", since=V38)
def set_run_metadata(world, call):
    metadata = Message(call.body).object("metadata", {})
    trial = world.trial(call.path["run"])
    if _check_metadata(metadata) > 1000:
        raise invalid("the metadata has more than 1000 values")
    trial.metadata = metadata
    return {"metadata": metadata}


@route("GET", "/api/v1/runs/{run:int}/metadata", since=V38)
def get_run_metadata(world, call):
    return {"metadata": world.trial(call.path["run"]).metadata}


@route("POST", "/api/v1/webhooks/custom", since=V38)
def alert(world, call):
    message = Message(call.body)
    data = Message(message.object("data"))
    alert = {"title": data.text("title"), "description": data.text("description"),
             "level": data.choice("level", LOG_LEVELS, LOG_LEVELS[0]),
             "experiment": message.integer("experimentId"), "trial": message.integer("trialId")}
    if alert["experiment"] not in world.experiments:
        raise internal("the alert is of no experiment")
    world.alerts.append(alert)
    return {}


@route("POST", "/api/v1/trial-source-info", since=V33)
def report_source(world, call):
    info = Message(call.body).part("trialSourceInfo")
    trial = world.trial(info.integer("trialId", 0))
    name = info.text("checkpointUuid")
    if len(name) != 36:
        raise internal("the checkpoint has no uuid")
    world.sources.append(info.body)
    return {"trialId": trial.id, "checkpointUuid": name}


@route("GET", "/api/v1/experiments/{experiment:int}/model_def", until=19)
def model_definition(world, call):
    world.experiment(call.path["experiment"])
    return {"b64Tgz": world.context}


@route("GET", "/api/v1/tasks/{task}/context_directory", since=V33)
def context_directory(world, call):
    world.task_trial(call.path["task"])
    return {"b64Tgz": world.context}
