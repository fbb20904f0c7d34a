#!/usr/bin/env python3
"""Runs a program of another language twice, first preempted and then to its end, and reads through
the client API what it left: usage test_programs.py PROGRAM ARGUMENT... Speaks TAP."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from ctypes import byref, c_char_p, c_int64, c_void_p

from detcore import CheckpointOptions, ClientOptions, ClientPage, Failure, call, library, text, value

LENGTH, STOP_AT, RATE = 10, 4, 0.25


class Run:
    """What both runs of the program printed, and a client on their store."""

    def __init__(self, program, home):
        self.home = home
        environment = dict(
            {name: text for name, text in os.environ.items() if not name.startswith("DET_")},
            DET_HOME=home, DET_EXTERNAL_ID="ten-lines",
            DET_HPARAMS=json.dumps({"optimizer": {"rate": RATE}}),
            DET_EXPERIMENT_CONFIG=json.dumps(
                {"searcher": {"name": "single", "metric": "loss", "max_length": LENGTH}}))
        self.output = [
            subprocess.run([*program, str(step)], env=environment, stdout=subprocess.PIPE,
                           check=True, text=True).stdout.splitlines()
            for step in (STOP_AT, 0)]
        self.client = c_void_p()
        options = ClientOptions()
        library.det_client_options_init(byref(options))
        options.master = home.encode()
        call("det_client_open", byref(options), byref(self.client))

    def ask(self, function, *arguments):
        return json.loads(text(f"det_client_{function}", self.client, *arguments))


def first_run_leaves_when_asked(run):
    assert run.output[0] == [f"preempted at {STOP_AT}"], run.output[0]


def second_run_goes_on_from_the_checkpoint(run):
    assert run.output[1] == [f"resumed at {STOP_AT}", f"completed at {LENGTH}"], run.output[1]


def every_report_is_in_the_store_once(run):
    page = ClientPage()
    library.det_client_page_init(byref(page))
    assert page.struct_size == ctypes.sizeof(ClientPage)
    reports = run.ask("list_metrics", c_int64(1), b"training", byref(page))["metrics"]
    weight, expected = 0.0, []
    for step in range(1, LENGTH + 1):
        weight += RATE * (1 - weight)
        expected.append((step, 1 if step <= STOP_AT else 2, {"loss": 1 - weight}))
    got = [(r["steps_completed"], r["trial_run_id"], r["metrics"]) for r in reports]
    assert got == expected, got


def both_checkpoints_are_known(run):
    checkpoints = run.ask("list_checkpoints", c_int64(1), None)["checkpoints"]
    steps = sorted(c["steps_completed"] for c in checkpoints if c["state"] == "COMPLETED")
    assert steps == [STOP_AT, LENGTH], checkpoints


def trial_and_experiment_are_completed(run):
    assert run.ask("get_trial", c_int64(1))["state"] == "COMPLETED"
    assert run.ask("get_experiment", c_int64(1))["state"] == "COMPLETED"


def callbacks_written_in_the_language_are_called(run):
    offered = []

    def select(path, _):
        offered.append(path)
        return 1 if path != b"left" else 0

    options = CheckpointOptions()
    library.det_checkpoint_options_init(byref(options))
    assert options.struct_size == ctypes.sizeof(CheckpointOptions)
    options.selector = CheckpointOptions.SELECTOR(select)
    core = c_void_p()
    with tempfile.TemporaryDirectory() as files:
        for name in ("kept", "left"):
            open(f"{files}/{name}", "w").close()
        call("det_core_init", None, byref(core))
        checkpoint = value("det_core_checkpoint", c_void_p, core)
        storage_id = text("det_checkpoint_upload", checkpoint, files.encode(),
                          b'{"steps_completed": 1}', byref(options))
        call("det_core_close", core, 0)
        library.det_core_free(core)
    assert {b"kept", b"left"} <= set(offered), offered
    resources = run.ask("get_checkpoint", storage_id.encode())["resources"]
    assert "kept" in resources and "left" not in resources, resources


def failures_say_what_to_do(run):
    try:
        run.ask("get_trial", c_int64(99))
        raise AssertionError("trial 99 was found")
    except Failure as failure:
        name = value("det_status_name", c_char_p, failure.error.code)
        assert name == b"DET_E_NOT_FOUND" and "99" in str(failure), failure


def main():
    tests = [first_run_leaves_when_asked, second_run_goes_on_from_the_checkpoint,
             every_report_is_in_the_store_once, both_checkpoints_are_known,
             trial_and_experiment_are_completed, callbacks_written_in_the_language_are_called,
             failures_say_what_to_do]
    print(f"1..{len(tests)}")
    with tempfile.TemporaryDirectory() as home:
        os.environ["DET_HOME"] = home
        run = Run(sys.argv[1:], home)
        for number, test in enumerate(tests, 1):
            try:
                test(run)
                print(f"ok {number} - {test.__name__}")
            except Exception as problem:  # the next test says more
                print(f"not ok {number} - {test.__name__}\n# {problem!r}")
        library.det_client_free(run.client)


main()
