#!/usr/bin/env python3
"""A search that a program decides through the C library, while `det run` runs it."""
import ctypes
import json
import os
import sys
import uuid

from harness import PATIENCE, main, test
from running import SINGLE, TRAINEE, config, has, rows, run, start, wait_until, write

LIBRARY = sys.argv[4]


class Decider:
    """The program that decides a custom search, over the C library."""

    def __init__(self, store):
        # By itself: the store is named by an argument, and this process keeps no DET_ variables.
        self.library = ctypes.CDLL(LIBRARY)
        self.handle = ctypes.c_void_p()
        self.library.det_free.argtypes = [ctypes.c_void_p]
        os.environ["DET_MASTER"] = store.home
        status = self.library.det_client_open(None, ctypes.byref(self.handle), None)
        del os.environ["DET_MASTER"]
        assert status == 0, status

    def ask(self, function, *arguments, expect=0):
        text = ctypes.c_void_p()
        status = getattr(self.library, function)(self.handle, *arguments, ctypes.byref(text), None)
        assert status == expect, (function, status)
        if expect != 0:
            return None
        answer = json.loads(ctypes.string_at(text.value))
        self.library.det_free(text)
        return answer

    def events(self, timeout_ms=PATIENCE * 1000):
        return self.ask("det_client_search_events", ctypes.c_int64(1), ctypes.c_int64(timeout_ms or -2))[
            "events"]

    def post(self, event_id, *operations, expect=0):
        return self.ask("det_client_post_operations", ctypes.c_int64(1), ctypes.c_int64(event_id),
                        json.dumps(operations).encode(), expect=expect)

    def close(self):
        self.library.det_client_free(self.handle)


@test
def a_program_can_decide_the_search(store):
    process = start(store, write(store, config({"name": "custom"})), "--slots", "2", "--", TRAINEE)
    wait_until(lambda: has(store, "SELECT 1 FROM experiments WHERE state='ACTIVE'"),
               "the experiment")
    decider = Decider(store)
    ids = [str(uuid.UUID(int=n, version=4)) for n in (1, 2)]
    seen, posted, metrics = [], 0, {}
    while process.poll() is None:
        events = decider.events()
        seen += [next(key for key in event if key != "id") for event in events]
        if not events or events[-1]["id"] == -1:
            break
        operations = []
        for event in events:
            if "initialOperations" in event:
                for n, request in enumerate(ids):
                    operations += [
                        {"createTrial": {"requestId": request,
                                         "hyperparams": json.dumps({"x": n * 0.5})}},
                        {"trialOperation": {"validateAfter": {"requestId": request,
                                                              "length": "2"}}}]
            if "validationCompleted" in event:
                done = event["validationCompleted"]
                metrics[done["requestId"]] = done["metric"]
                operations.append({"closeTrial": {"requestId": done["requestId"]}})
            if "trialClosed" in event and len(metrics) == 2 and seen.count("trialClosed") == 2:
                operations.append({"shutDown": {}})
        if posted == 0:
            operations.append({"nonsense": {}})
        answer = decider.post(events[-1]["id"], *operations)
        assert (answer["refused"] is None) == (posted > 0), answer
        posted = events[-1]["id"]
        if not rows(store, "SELECT 1 FROM experiments WHERE state<>'ACTIVE'"):
            decider.post(1, expect=-4)  # acknowledged before
    process.communicate(timeout=PATIENCE)
    decider.close()
    assert process.returncode == 0, seen
    assert len(metrics) == 2 and min(metrics.values()) < max(metrics.values()), metrics
    assert rows(store, "SELECT hparams, state FROM trials ORDER BY id") == [
        ('{"x":0.0}', "COMPLETED"), ('{"x":0.5}', "COMPLETED")]


@test
def a_search_that_decides_by_itself_takes_no_operations(store):
    run(store, config(SINGLE))
    decider = Decider(store)
    decider.ask("det_client_search_events", ctypes.c_int64(1), ctypes.c_int64(-2), expect=-9)
    decider.ask("det_client_search_events", ctypes.c_int64(7), ctypes.c_int64(-2), expect=-4)
    decider.post(1, expect=-9)
    decider.close()


main({})
