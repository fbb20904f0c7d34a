"""Checkpoints as the master keeps account of them."""

import uuid

from .message import Message, as_integer, as_time, is_number
from .objects import checkpoint_object
from .refusal import internal, invalid, missing
from .routes import V19, V33, route
from .world import now, time_text

STATES = ["STATE_" + name for name in (
    "UNSPECIFIED", "ACTIVE", "COMPLETED", "ERROR", "DELETED", "PARTIALLY_DELETED")]


def _uuid(text, refuse=invalid):
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise refuse(f"'{text}' is no uuid")


def _sizes(message):
    return {name: str(as_integer(size, f"the size of '{name}'", bits=64))
            for name, size in message.object("resources", {}).items()}


@route("POST", "/api/v1/checkpoints")
def report_checkpoint(world, call):
    message = Message(call.body)
    name = _uuid(message.text("uuid"))
    if message.choice("state", STATES, STATES[0]) not in ("STATE_COMPLETED", "STATE_UNSPECIFIED"):
        raise invalid("a checkpoint is reported when it is complete")
    report_time = message.get("reportTime")
    metadata = message.object("metadata", {})
    checkpoint = {
        "uuid": name, "taskId": message.text("taskId"), "state": "STATE_COMPLETED",
        "allocationId": message.text("allocationId", None),
        "storageId": message.integer("storageId"), "resources": _sizes(message),
        "metadata": metadata,
        "reportTime": time_text(as_time(report_time, "reportTime") if report_time else now()),
        "received": 1,
    }
    # A real master takes any steps_completed here, and fails later, at calls of others too.
    steps = metadata.get("steps_completed", 0)
    if not is_number(steps) or steps != int(steps):
        raise invalid("metadata.steps_completed must be an integer")
    world.task_trial(checkpoint["taskId"])
    if name in world.checkpoints:
        world.checkpoints[name]["received"] += 1
        raise internal(f"there is a checkpoint {name} already (SQLSTATE 23505)")
    if checkpoint["allocationId"] not in (None, *world.allocations):
        raise internal(f"there is no allocation '{checkpoint['allocationId']}' (SQLSTATE 23503)")
    if world.version == V19:
        checkpoint["storageId"] = None
    elif checkpoint["storageId"] not in (None, *range(1, len(world.storages) + 1)):
        raise internal(f"there is no storage {checkpoint['storageId']} (SQLSTATE 23503)")
    world.checkpoints[name] = checkpoint
    return {}


def _checkpoint(world, text):
    name = _uuid(text, internal)
    if name not in world.checkpoints:
        raise missing("checkpoint", name)
    return world.checkpoints[name]


@route("GET", "/api/v1/checkpoints/{uuid}")
def get_checkpoint(world, call):
    return {"checkpoint": checkpoint_object(world, _checkpoint(world, call.path["uuid"]))}


@route("POST", "/api/v1/checkpoints/{uuid}/metadata")
def set_metadata(world, call):
    checkpoint = _checkpoint(world, call.path["uuid"])
    checkpoint["metadata"] = Message(call.body).part("checkpoint").object("metadata", {})
    return {"checkpoint": checkpoint_object(world, checkpoint)}


@route("PATCH", "/api/v1/checkpoints", since=V33)
def patch_checkpoints(world, call):
    changes = []
    for entry in Message(call.body).list("checkpoints"):
        entry = Message(entry)
        remains = entry.get("resources")
        changes.append((_uuid(entry.text("uuid")),
                        None if remains is None else _sizes(Message(remains))))
    unknown = [name for name, _ in changes if name not in world.checkpoints]
    if unknown:
        raise missing("checkpoint", ",".join(unknown))
    for name, remains in changes:
        checkpoint = world.checkpoints[name]
        if remains == {}:
            checkpoint["state"] = "STATE_DELETED"
        elif remains is not None:
            known = dict(checkpoint["resources"])
            if "metadata.json" in remains:
                known.setdefault("metadata.json", remains["metadata.json"])
            if remains != known:
                checkpoint["state"] = "STATE_PARTIALLY_DELETED"
            checkpoint["resources"] = remains
    return {}
