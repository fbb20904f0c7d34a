"""What the containers of an allocation do before they train: meet, and tell of themselves."""

import uuid

from .message import Message
from .refusal import Refusal, internal, invalid
from .routes import V19, V33, route
from .signals import allocation_at


def _check_resources(world, allocation, name):
    if name not in allocation.resources_ids:
        raise Refusal(400 if world.version == V19 else 500, f"'{name}' is not of the allocation")


@route("GET", "/api/v1/allocations/{allocation}/resources/{resources}/rendezvous")
def rendezvous(world, call):
    allocation = allocation_at(world, call.path["allocation"])
    name = call.path["resources"]
    _check_resources(world, allocation, name)
    if name in allocation.asking and not allocation.has_met:
        raise internal(f"'{name}' waits for the others already")
    allocation.asking.add(name)
    if len(allocation.asking) == len(allocation.resources_ids):
        allocation.has_met = True
        world.changed.notify_all()
    try:
        call.wait_until(lambda: allocation.has_met)
    finally:
        if not allocation.has_met:
            allocation.asking.discard(name)
    addresses = [f"127.0.0.{1 + i}" for i in range(len(allocation.resources_ids))]
    info = {"addresses": addresses, "rank": allocation.resources_ids.index(name)}
    if world.version >= V33:
        info["slots"] = [1] * len(addresses)
    return {"rendezvousInfo": info}


class _Gather:
    """One peer's wait; `result` once all are there, `evicted` by another of the same uuid."""

    def __init__(self, data):
        self.data = data
        self.result = None
        self.evicted = False


@route("POST", "/api/v1/allocations/{allocation}/all_gather")
def all_gather(world, call):
    message = Message(call.body)
    allocation = allocation_at(world, call.path["allocation"])
    try:
        name = str(uuid.UUID(message.text("requestUuid")))
    except ValueError:
        raise invalid("requestUuid is no uuid")
    mine = _Gather(message.object("data", {}))
    if name in allocation.gathers:
        allocation.gathers[name].evicted = True
    allocation.gathers[name] = mine
    if len(allocation.gathers) >= message.integer("numPeers", 0):
        result = [gather.data for gather in allocation.gathers.values()]
        for gather in allocation.gathers.values():
            gather.result = result[::-1]  # in no order that one could rely on
        allocation.gathers = {}
    world.changed.notify_all()
    try:
        call.wait_until(lambda: mine.result is not None or mine.evicted)
    finally:
        if allocation.gathers.get(name) is mine:
            del allocation.gathers[name]
    if mine.result is None:
        raise internal("another request of the same uuid took the place")
    return {"data": mine.result}


@route("POST", "/api/v1/allocations/{allocation}/acceleratorData", since=V33)
@route("POST", "/api/v1/allocations/{allocation}/proxy_address")
@route("POST", "/api/v1/allocations/{allocation}/ready")
@route("POST", "/api/v1/allocations/{allocation}/waiting")
def note(world, call):
    allocation = allocation_at(world, call.path["allocation"])
    allocation.notes.append({"what": call.segments[-1], "body": Message(call.body).body})
    return {}


@route("POST", "/api/v1/allocations/{allocation}/notify_container_running")
def notify_running(world, call):
    raise internal("only for some resource managers")


@route("POST", "/api/v1/allocations/{allocation}/resources/{resources}/daemon")
def mark_daemon(world, call):
    allocation = allocation_at(world, call.path["allocation"])
    _check_resources(world, allocation, call.path["resources"])
    allocation.notes.append({"what": "daemon", "body": {"resources": call.path["resources"]}})
    return {}
