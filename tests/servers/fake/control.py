"""What tests ask of the stand-in itself, without a token, under /test/."""

import dataclasses

from .world import World

CONTROLS = {}


def control(method, name):
    def register(function):
        CONTROLS[method, f"/test/{name}"] = function
        return function

    return register


def _row(trial, row):
    return {"trial": trial.id, **dataclasses.asdict(row)}


def _trial(trial):
    return {
        "experiment": trial.experiment.id, "task_id": trial.task_id, "run_id": trial.run_id,
        "state": trial.state, "states": trial.states, "heartbeats": trial.heartbeats,
        "starts": trial.starts, "progress": trial.progress, "statuses": trial.statuses,
        "early_exits": trial.early_exits, "metadata": trial.metadata, "hparams": trial.hparams,
        "external_id": trial.external_id, "completed_operations": trial.completed,
        "refused_metrics": trial.refused,
    }


@control("GET", "state")
def state(handler, body):
    """All of `metrics`, `checkpoints` and `logs` in the order of their arrival. `received` counts
    the repeats that a row or checkpoint got, refused ones too."""
    world = handler.server.world
    return {
        "version": world.version_text,
        "experiments": {experiment.id: {
            "state": experiment.state, "external_id": experiment.external_id,
            "error": experiment.error, "config": experiment.config,
            "is_managed": experiment.is_managed,
        } for experiment in world.experiments.values()},
        "trials": {trial.id: _trial(trial) for trial in world.trials.values()},
        "allocations": {allocation.id: {
            "preempted": allocation.is_preempted, "acks": allocation.acks,
            "polls": allocation.polls, "has_met": allocation.has_met, "notes": allocation.notes,
        } for allocation in world.allocations.values()},
        "metrics": [_row(trial, row) for trial in world.trials.values() for row in trial.rows],
        "checkpoints": list(world.checkpoints.values()),
        "storages": world.storages, "logs": world.logs, "alerts": world.alerts,
        "sources": world.sources, "tokens": world.tokens,
        "faults_left": handler.server.faults.left(),
    }


@control("GET", "requests")
def requests(handler, body):
    """In the order of their arrival. A request that is not yet answered has no `status`."""
    return handler.server.world.requests


@control("POST", "setup")
def setup(handler, body):
    """A new world, made by this set-up; with {"version"} as a master of another version."""
    version = body.pop("version", handler.server.world.version_text)
    handler.server.world.restarts += 1  # who waits there is sent away
    handler.server.world = World(version, body)
    handler.server.faults.replace([])
    return {}


def _allocation(handler, body):
    allocations = handler.server.world.allocations
    return allocations[body.get("allocation", next(reversed(allocations)))]


@control("POST", "preempt")
def preempt(handler, body):
    """{"allocation"}: the newest one where none is named."""
    _allocation(handler, body).is_preempted = True
    return {}


@control("POST", "started")
def started(handler, body):
    """The containers have come up."""
    _allocation(handler, body).is_started = True
    return {}


@control("POST", "end")
def end(handler, body):
    """The allocation ends, with {"experiment": true} its experiment too; their tokens as well."""
    world = handler.server.world
    allocation = _allocation(handler, body)
    allocation.is_preempted = True
    del world.allocations[allocation.id]
    world.task_tokens.clear()
    if body.get("experiment"):
        world.tokens.clear()
        allocation.trial.experiment.is_active = False
        allocation.trial.state = allocation.trial.experiment.state = "STATE_COMPLETED"
    return {}


@control("POST", "next-run")
def next_run(handler, body):
    """The managed trial is started again: the run's id is one higher, the allocation a new one.
    {"lengths": [...]}: of more operations to do."""
    world = handler.server.world
    allocation = _allocation(handler, body)
    trial = allocation.trial
    del world.allocations[allocation.id]
    trial.run_id += 1
    trial.lengths += body.get("lengths", [])
    name = f"{trial.task_id}.{trial.run_id}"
    world.add_allocation(name, trial, allocation.resources_ids)
    world.task_tokens.add("task-token")
    return {"run_id": trial.run_id, "allocation_id": name}


@control("POST", "expire")
def expire(handler, body):
    """All tokens of users are refused from now on; a login gives new ones."""
    handler.server.world.tokens.clear()
    return {}


@control("POST", "fail")
def fail(handler, body):
    for fault in body if isinstance(body, list) else [body]:
        handler.server.faults.add(fault)
    return {}


@control("POST", "heal")
def heal(handler, body):
    """No more faults, but for those of a list."""
    handler.server.faults.replace(body if isinstance(body, list) else [])
    return {}


@control("POST", "restart")
def restart(handler, body):
    """All connections are closed, waiting calls too; {"seconds"}: none is taken for so long."""
    handler.server.go_down(body.get("seconds", 0), handler.connection)
    return {}
