"""Searcher operations, of masters before 0.38: a fixed list of lengths, one after the other."""

from .message import Message
from .refusal import Refusal, internal
from .routes import V19, V33, route


def _current(trial):
    """The operation to do or, when all are done, the last."""
    return trial.lengths[min(len(trial.completed), len(trial.lengths) - 1)]


def is_done(trial):
    return len(trial.completed) == len(trial.lengths)


@route("GET", "/api/v1/trials/{trial:int}/searcher/operation", until=V33)
def operation(world, call):
    trial = world.active_trial(call.path["trial"])
    if not trial.lengths:
        raise internal("the trial has no operation")
    return {"op": {"validateAfter": {"requestId": "", "length": str(_current(trial))}},
            "completed": is_done(trial)}


@route("POST", "/api/v1/trials/{trial:int}/searcher/completed_operation", until=V33)
def complete_operation(world, call):
    message = Message(call.body)
    trial = world.active_trial(call.path["trial"])
    length = message.part("op").integer("length", 0, bits=64)
    wrong = 400 if world.version == V19 else 500
    if is_done(trial):
        raise Refusal(wrong, f"the operation of length {length} is complete already")
    if length != _current(trial):
        raise Refusal(wrong, f"the operation has the length {_current(trial)}, not {length}")
    trial.completed.append({"length": length, "metric": message.get("searcherMetric")})
    return {}
