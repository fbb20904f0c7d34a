"""Experiments and trials that no cluster schedules, and trials as they are read."""

import uuid

from .message import Message
from .objects import checkpoints_of, experiment_object, trial_object
from .refusal import Refusal, internal
from .routes import V33, V38, route
from .world import Experiment, Trial, now
from .yaml import parse_yaml

STATES = ["STATE_" + name for name in (
    "UNSPECIFIED", "ACTIVE", "PAUSED", "STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_COMPLETED",
    "STOPPING_ERROR", "CANCELED", "COMPLETED", "ERROR", "QUEUED", "PULLING", "STARTING", "RUNNING")]
SETTABLE = set(STATES) - {"STATE_UNSPECIFIED", "STATE_QUEUED", "STATE_PULLING"}
ENDED = {"STATE_CANCELED", "STATE_COMPLETED", "STATE_ERROR"}
PRECEDENCE = ["STATE_PAUSED", "STATE_ERROR", "STATE_COMPLETED", "STATE_RUNNING"]


def _config(world, message):
    text = message.text("config")
    try:
        config = parse_yaml(text)
    except ValueError as error:
        raise internal(f"the configuration is no YAML: {error}")
    searcher = config.get("searcher") if isinstance(config, dict) else None
    required = {"name", "metric"} if world.version >= V38 else {"name", "metric", "max_length"}
    if not isinstance(searcher, dict) or not required <= searcher.keys():
        raise internal("the configuration has no complete searcher")
    if (config.get("workspace") is None) != (config.get("project") is None):
        raise internal("workspace and project are set together")
    if config.get("workspace") not in (None, "", "Uncategorized"):
        raise Refusal(404, f"there is no workspace '{config['workspace']}'")
    return config, text


def _answer(experiment):
    shown = experiment_object(experiment)
    return {"experiment": shown, "config": shown["config"], "warnings": []}


@route("POST", "/api/v1/experiments", since=V33)
def create_experiment(world, call):
    message = Message(call.body)
    config, text = _config(world, message)
    if not message.flag("unmanaged"):
        raise internal("managed experiments are not for this stand-in")
    experiment = Experiment(0, config, text, is_managed=False)
    if not message.flag("validateOnly"):
        experiment.id = next(world.experiment_ids)
        world.experiments[experiment.id] = experiment
    return _answer(experiment)


@route("PUT", "/api/v1/experiments/by-external-id/{external}", since=V33)
def put_experiment(world, call):
    message = Message(call.body)
    config, text = _config(world, message)
    if not message.flag("unmanaged"):
        raise internal("only unmanaged experiments have an external id")
    name = call.path["external"]
    new_id = next(world.experiment_ids)  # used up, needed or not
    for experiment in world.experiments.values():
        if experiment.external_id == name:
            experiment.config = config
            return _answer(experiment)
    experiment = Experiment(new_id, config, text, is_managed=False, external_id=name)
    world.experiments[new_id] = experiment
    return _answer(experiment)


@route("GET", "/api/v1/experiments/{experiment:int}")
def get_experiment(world, call):
    shown = experiment_object(world.experiment(call.path["experiment"]))
    return {"experiment": shown, "jobSummary": None, "config": shown["config"]}


def _new_trial(world, message, external_id=None):
    experiment = world.experiment(message.integer("experimentId", 0))
    hparams = message.object("hparams", {})
    if experiment.is_managed or not message.flag("unmanaged"):
        raise internal("trials of managed experiments are not created by clients")
    new_id = next(world.trial_ids)
    for trial in experiment.trials:
        if external_id and trial.external_id == external_id:
            if world.version >= V38 and trial.metadata:
                raise internal("a run with metadata cannot be put again")
            trial.hparams = hparams
            return {"trial": trial_object(world, trial)}
    trial = Trial(new_id, experiment, f"{experiment.id}.{external_id or uuid.uuid4()}", hparams,
                  is_managed=False, external_id=external_id)
    world.add_trial(trial)
    return {"trial": trial_object(world, trial)}


@route("POST", "/api/v1/trials", since=V33)
def create_trial(world, call):
    return _new_trial(world, Message(call.body))


@route("PUT", "/api/v1/trials", since=V33)
def put_trial(world, call):
    message = Message(call.body)
    return _new_trial(world, message.part("createTrialRequest"), message.text("externalTrialId"))


def _unmanaged_trial(world, trial_id):
    trial = world.trials.get(trial_id)
    if trial is None:
        raise internal(f"there is no trial {trial_id}")
    if trial.is_managed:
        raise internal("only for unmanaged trials")
    return trial


@route("POST", "/api/v1/trials/{trial:int}/start", since=V33)
def start_trial(world, call):
    resume = Message(call.body).flag("resume")
    trial = _unmanaged_trial(world, call.path["trial"])
    if not resume and (world.version >= V38 or trial.run_id > 0):
        raise internal("the trial can only be resumed")
    trial.run_id += 1
    set_state(trial, "STATE_RUNNING")
    kept = [found for found in checkpoints_of(world, trial) if found["state"] == "STATE_COMPLETED"]
    if trial.run_id == 1 or not kept:
        return {"trialRunId": trial.run_id, "stepsCompleted": 0}
    latest = max(kept, key=lambda found: found["metadata"].get("steps_completed", 0))
    return {"trialRunId": trial.run_id, "latestCheckpoint": latest["uuid"],
            "stepsCompleted": latest["metadata"].get("steps_completed", 0)}


def set_state(trial, state):
    trial.state = state
    if state in ENDED:
        trial.end_time = now()
    experiment = trial.experiment
    best = max(PRECEDENCE.index(each.state) if each.state in PRECEDENCE else 0
               for each in experiment.trials)
    experiment.state = PRECEDENCE[best]
    if experiment.state in ENDED:
        experiment.end_time = now()


@route("PATCH", "/api/v1/trials/{trial:int}", since=V33)
def patch_trial(world, call):
    state = Message(call.body).choice("state", STATES)
    trial = _unmanaged_trial(world, call.path["trial"])
    if state is None:
        trial.heartbeats += 1
    elif state not in SETTABLE:
        raise internal(f"a trial cannot be set to {state}")
    else:
        trial.states.append(state)
        set_state(trial, state)
    return {"trial": trial_object(world, trial)}


@route("GET", "/api/v1/trials/{trial:int}")
def get_trial(world, call):
    return {"trial": trial_object(world, world.trial(call.path["trial"]))}


@route("GET", "/api/v1/trials/by-external-id/{experiment}/{trial}", since=V33)
def get_trial_by_external_id(world, call):
    for trial in world.trials.values():
        if (trial.experiment.external_id, trial.external_id) == (
                call.path["experiment"], call.path["trial"]) and trial.external_id:
            return {"trial": trial_object(world, trial)}
    raise internal("there is no such trial")
