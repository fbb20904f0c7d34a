"""Lines of output, from containers and from unmanaged trials."""

from .message import NOTHING, Message, as_time
from .refusal import Refusal, invalid
from .routes import V33, route
from .training import LOG_LEVELS


@route("POST", "/api/v1/task/logs", since=V33)
def post_logs(world, call):
    entries = [Message(entry) for entry in Message(call.body).list("logs")]
    if not entries:
        raise invalid("there are no logs")
    for entry in entries:
        entry.choice("level", LOG_LEVELS)
        entry.integer("rankId")
        if entry.get("id") is not None:
            raise invalid("the ids of logs are given by the master")
    tasks = {entry.text("taskId") for entry in entries}
    if len(tasks) != 1:
        raise invalid("the logs of a request are of one task")
    world.task_trial(tasks.pop())
    world.logs += [entry.body for entry in entries]
    return {}


def _refuse(text):
    return Refusal(500, f"decoding task logs: {text}", plain=True)


@route("POST", "/task-logs", needs_token=False)
def post_plain_logs(world, call):
    if call.body is NOTHING or not isinstance(call.body, list):
        raise _refuse("they are no list")
    for entry in call.body:
        if not isinstance(entry, dict):
            raise _refuse("an entry is no object")
        rank = entry.get("rank_id")
        if rank is not None and (not isinstance(rank, int) or isinstance(rank, bool)):
            raise _refuse("rank_id is no integer")
        if entry.get("timestamp") is not None:
            try:
                as_time(entry["timestamp"], "timestamp")
            except Refusal as error:
                raise _refuse(error)
    world.logs += call.body
    return ""
