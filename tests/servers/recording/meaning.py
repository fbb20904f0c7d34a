"""Whether two bodies of requests mean the same: spelling, nulls and what a client chooses freely
(times, passwords, uuids that it has told, the size of its own metadata) do not count."""

import re

from ..fake.message import Message, as_time
from ..fake.refusal import Refusal
from ..fake.yaml import parse_yaml

# Below these keys the user's own data begins, which is compared as it is.
USER_DATA = {"avgMetrics", "batchMetrics", "metadata", "hparams", "checkpointStorage"}
CHOSEN = {"password", "requestUuid"}


def _camel(name):
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def meaning(body, key=None):
    """One form for all bodies that mean the same."""
    if key == "config" and isinstance(body, str):
        config = parse_yaml(body)
        return {name: value for name, value in config.items() if value is not None}
    if key == "reportTime":
        return _is_time(body)
    if key in CHOSEN:
        return "chosen by the client"
    if key == "resources":
        return {path: str(size) for path, size in body.items() if path != "metadata.json"}
    if key in USER_DATA:
        return body
    if isinstance(body, dict):
        found = {_camel(name): value for name, value in body.items()}
        return {name: meaning(value, name) for name, value in found.items()
                if value not in (None, {}, []) or name in ("avgMetrics", "metadata")}
    if isinstance(body, list):
        return [meaning(entry) for entry in body]
    if key in ("length", "storageId") and isinstance(body, str) and body.isdigit():
        return int(body)
    return body


def _is_time(value):
    try:
        as_time(value, "reportTime")
        return "a time"
    except Refusal:
        return "no time"


def group_of(path, body):
    """The metrics' group, or none for other requests."""
    if path.endswith("/metrics") and isinstance(body, dict):
        return Message(body).get("group")
    return None
