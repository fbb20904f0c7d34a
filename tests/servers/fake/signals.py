"""Preemption: long polls for the signal, and its acknowledgement."""

import time

from .message import as_integer
from .refusal import internal, invalid, missing
from .routes import V19, V38, route
from .searcher import is_done


def find_allocation(world, name):
    """None for an id of an allocation that is not there."""
    if "." not in name:
        raise invalid(f"'{name}' is no id of an allocation")
    return world.allocations.get(name)


def allocation_at(world, name):
    found = find_allocation(world, name)
    if found is None:
        raise missing("allocation", name)
    return found


def _timeout(query):
    text = query.get("timeout_seconds", query.get("timeoutSeconds", "0"))
    return as_integer(text, "timeout_seconds") if text else 0


@route("GET", "/api/v1/allocations/{allocation}/signals/preemption")
def poll_preemption(world, call):
    timeout = _timeout(call.query)
    allocation = find_allocation(world, call.path["allocation"])
    if allocation is None:
        if world.version == V19:
            raise missing("allocation", call.path["allocation"])
        return {"preempt": False}  # at once, whatever the timeout
    if not allocation.is_started:
        raise internal("the allocation cannot be preempted yet")
    allocation.polls += 1
    if timeout <= 0:
        # A real master picks by chance between "timed out" and "preempted".
        allocation.late_polls += allocation.is_preempted
        return {"preempt": allocation.is_preempted and allocation.late_polls % 2 == 0}
    ends = time.monotonic() + timeout
    call.wait_until(lambda: allocation.is_preempted, ends)
    return {"preempt": allocation.is_preempted}


@route("POST", "/api/v1/allocations/{allocation}/signals/ack_preemption")
def acknowledge(world, call):
    allocation = allocation_at(world, call.path["allocation"])
    allocation.acks.append({"preempted": allocation.is_preempted,
                            "operations_done": is_done(allocation.trial)})
    return {}


@route("POST", "/api/v1/allocations/{allocation}/signals/pending_preemption")
def announce_preemption(world, call):
    allocation = allocation_at(world, call.path["allocation"])
    if world.version < V38:
        raise internal("only for some resource managers")
    allocation.is_preempted = True
    return {}
