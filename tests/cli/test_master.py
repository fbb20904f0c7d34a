#!/usr/bin/env python3
"""What `det` shows and steers of a master over HTTP: recorded ones of three versions."""
import csv
import io
import json
import os
import subprocess
import sys
import urllib.request

from harness import Store, main, test

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Master(Store):
    """A master that replays a recording; `made` takes the place of what is recorded."""

    def __init__(self, version, *made):
        super().__init__()
        path = os.path.join(self.home, "made.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(answer) + "\n" for answer in made)
        self.server = subprocess.Popen(
            [sys.executable, os.path.join(SOURCE, "servers"), "recorded_answers",
             os.path.join(SOURCE, "data", "wire", version, "answers.jsonl"), path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.server.stdout.readline())}"
        del self.env["DET_HOME"]
        self.env.update(DET_MASTER=self.url, DET_USER="admin", DET_USER_TOKEN="token",
                        XDG_CONFIG_HOME=self.home)

    def requests(self):
        with urllib.request.urlopen(self.url + "/replay/requests") as answer:
            return json.load(answer)

    def stop(self):
        self.server.communicate()  # it ends with its stdin

    def clean(self):
        if self.server.poll() is None:
            self.stop()
        super().clean()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clean()


def answer(path, response, status=200, method="GET", then=()):
    return {"method": method, "path": path, "status": status, "response": response,
            "then": list(then)}


def refused(path, status, code=0):
    return answer(path, {"error": {"code": code, "reason": "Nope", "error": "refused"}}, status)


# Experiment, trial and checkpoint of each recording.
IDS = {"cli-0.38.1": ("1", "1", "a6512fc7-9ee9-49f5-bccf-fccf317d25fb"),
       "cli-0.33.0": ("3", "3", "b5142b29-6457-4b67-bafa-fb76943b88a8"),
       "cli-0.19.10": ("8", "15", "e79dd798-ba96-4fa0-b181-4d02031f0440"),
       "unmanaged-0.38.1": ("2", "2", "95002cf4-c181-42f2-8e93-12dbd38f1448")}


@test
def every_reading_command_works_with_every_version():
    for version, (experiment, trial, checkpoint) in IDS.items():
        made = [answer("/api/v1/master", {"version": "0.38.1", "clusterId": "c"})]
        with Master(version, *(made if version.startswith("unmanaged") else [])) as master:
            for command in (["ls"], ["ls", "-e"], ["ls", experiment], ["show", trial],
                            ["show", "-e", experiment], ["show", checkpoint], ["metrics", trial],
                            ["metrics", trial, "-g", "validation"], ["checkpoints"],
                            ["checkpoints", trial], ["logs", trial],
                            ["logs", trial, "-l", "error"]):
                text = master.run(*command)
                assert len(text.splitlines()) > 1 or command[0] == "logs", (version, command, text)
                assert "[rank -]" not in text, text
                assert all(isinstance(entry, dict) for entry in master.lines(*command))
            assert "training" in master.run("plot", trial)
            assert list(csv.DictReader(io.StringIO(master.run("metrics", trial, "--csv"))))
            assert master.run("sync") == "No reports are waiting.\n"


@test
def the_master_may_be_an_option():
    with Master("cli-0.38.1") as master:
        del master.env["DET_MASTER"]
        for arguments in (["-m", master.url, "ls"], ["ls", "--master", master.url + "/"]):
            assert "s1-single" in master.run(*arguments)


@test
def a_trial_is_shown_with_what_the_master_knows():
    with Master("cli-0.38.1") as master:
        text = master.run("show", "1")
        for part in ("Trial 1 of experiment 1: s1-single", "COMPLETED (training)", "100%", "0.05",
                     "inference: bleu", "training: acc, loss",
                     "a6512fc7-9ee9-49f5-bccf-fccf317d25fb at step 100, 1.0 KiB", "lr"):
            assert part in text, f"{part!r} is not in:\n{text}"
        for part in ("Runs", "Operations", "wait in journals", "Start it again"):
            assert part not in text, text
        text = master.run("show", IDS["cli-0.38.1"][2])
        for part in ("Trial             1, run 1", "shared_fs", "sub/w.bin", "1000 B"):
            assert part in text, f"{part!r} is not in:\n{text}"


@test
def metrics_merge_the_reports_of_a_step():
    with Master("cli-0.38.1") as master:
        lines = [line.split() for line in master.run("metrics", "1", "--name", "loss", "--name",
                                                     "val_loss").splitlines()]
        assert lines[0] == ["GROUP", "STEPS", "loss", "val_loss"]
        assert lines[1] == ["training", "10", "1"] and lines[6] == ["validation", "50", "0.06"]
        assert "training: acc, loss" in master.run("metrics", "1", "-g", "nope", expect=3)


@test
def metrics_of_groups_of_the_users_own_are_shown():
    report = {"trialId": 1, "trialRunId": 1, "totalBatches": 100, "group": "inference",
              "endTime": "2026-01-01T00:00:00Z", "metrics": {"avg_metrics": {"bleu": 0.5}}}
    with Master("cli-0.38.1", answer("/api/v1/trials/metrics/trial_metrics",
                                     json.dumps({"result": {"metrics": [report]}}))) as master:
        assert master.run("metrics", "1").splitlines()[-1].split() == ["inference", "100", "0.5"]
        assert [r["trial_run_id"] for r in master.lines("metrics", "1", "-g", "inference")] == [1]
        assert "inference.bleu" in master.run("plot", "1", "bleu")


def many(name, entries):
    return {name: entries, "pagination": {"endIndex": len(entries), "total": len(entries)}}


@test
def long_lists_come_page_by_page():
    workloads = [{"training": {"totalBatches": i, "endTime": None,
                               "metrics": {"avgMetrics": {"loss": 1 / i}}}} for i in range(1, 2501)]
    lines = "".join(json.dumps({"result": {"id": str(i), "timestamp": "2026-01-01T00:00:00Z",
                                           "log": f"line {i}\n"}}) + "\n" for i in range(1, 2501))
    trials = [{"id": i, "experimentId": 1, "state": "STATE_COMPLETED"} for i in range(1, 1203)]
    checkpoints = [{"uuid": f"u{i:04}", "reportTime": f"2026-01-01T00:{i // 60:02}:{i % 60:02}Z"}
                   for i in range(1, 1203)]
    with Master("cli-0.38.1", answer("/api/v1/trials/1/workloads", many("workloads", workloads)),
                answer("/api/v1/trials/1/logs", lines),
                answer("/api/v1/experiments/1/trials", many("trials", trials)),
                answer("/api/v1/trials/1/checkpoints", many("checkpoints", checkpoints))) as master:
        steps = [report["steps_completed"] for report in master.lines("metrics", "1")]
        assert steps == list(range(1, 2501))
        texts = [line["text"] for line in master.lines("logs", "1")]
        assert texts == [f"line {i}" for i in range(1, 2501)]
        assert [t["id"] for t in master.lines("ls", "1")] == list(range(1202, 0, -1))
        assert [c["uuid"] for c in master.lines("checkpoints", "1")] == [
            f"u{i:04}" for i in range(1202, 0, -1)]
        assert len(json.loads(master.run("show", "-e", "1", "--json"))["trials"]) == 1202


def running(state, trials=1):  # experiment 8 with trial 15
    config = {"searcher": {"metric": "loss"}}
    return [answer("/api/v1/experiments/8", {"experiment": {
        "id": 8, "name": "made", "state": state, "numTrials": trials, "config": config}}),
        answer("/api/v1/trials/15/checkpoints", many("checkpoints", [])),
        answer("/api/v1/trials/15", {"trial": {"id": 15, "experimentId": 8, "state": state,
                                               "summaryMetrics": {}}})]


@test
def a_log_is_followed_until_the_trial_ends():
    def line(number):
        return json.dumps({"result": {"id": str(number), "log": f"line {number}\n",
                                      "timestamp": "2026-01-01T00:00:00Z"}}) + "\n"
    ended = [answer("/api/v1/trials/15/logs", line(1) + line(2) + line(3)),
             *running("STATE_COMPLETED")]
    first = answer("/api/v1/trials/15/logs", line(1),
                   then=[answer("/api/v1/trials/15/logs", line(1) + line(2), then=ended)])
    with Master("cli-0.38.1", *running("STATE_RUNNING"), first) as master:
        text = master.run("logs", "15", "-f")
        assert [shown.split()[-1] for shown in text.splitlines()] == ["1", "2", "3"], text


@test
def steering_tells_the_state_that_the_master_gives():
    for verb, state in (("pause", "PAUSED"), ("activate", "ACTIVE"),
                        ("cancel", "STOPPING_CANCELED"), ("kill", "STOPPING_KILLED")):
        path = f"/api/v1/experiments/8/{verb}"
        own = "/api/v1/trials/15/kill"
        made = [*running("STATE_RUNNING"),
                answer(path, {}, method="POST", then=running("STATE_" + state)),
                answer(own, {}, method="POST", then=running("STATE_" + state))]
        with Master("cli-0.38.1", *made) as master:
            assert master.run(verb, "-e", "8") == f"Experiment 8 is {state}.\n"
            assert f"POST {path}" in master.requests()
        with Master("cli-0.33.0", *made) as master:
            assert master.run(verb, "15") == f"Trial 15 is {state}.\n"
            assert f"POST {own if verb == 'kill' else path}" in master.requests()


@test
def trials_of_a_search_are_steered_together():
    with Master("cli-0.38.1", *running("STATE_RUNNING", trials=4)) as master:
        assert "use -e 8" in master.run("pause", "15", expect=7)
        assert not [line for line in master.requests() if line.startswith("POST")]


@test
def what_is_over_cannot_be_paused():
    for version in ("cli-0.38.1", "cli-0.33.0"):
        experiment, trial, _ = IDS[version]
        with Master(version) as master:
            for command in (["pause", trial], ["activate", trial], ["pause", "-e", experiment]):
                assert "it is COMPLETED" in master.run(*command, expect=5)
            for command in (["kill", trial], ["cancel", "-e", experiment]):
                assert "is COMPLETED.\n" in master.run(*command)


@test
def unknown_ids_are_not_found():
    for version in ("cli-0.38.1", "cli-0.33.0", "cli-0.19.10"):
        with Master(version) as master:
            for command in (["show", "77"], ["show", "-e", "77"], ["ls", "77"], ["logs", "77"],
                            ["show", "00000000-0000-0000-0000-000000000000"], ["metrics", "77"],
                            ["plot", "77"], ["checkpoints", "77"], ["pause", "77"],
                            ["kill", "-e", "77"]):
                error = master.run(*command, expect=3)
                assert "`det " in error and master.url in error, error


@test
def a_bad_token_says_to_log_in():
    with Master("cli-0.38.1", refused("/api/v1/experiments", 401, 16)) as master:
        error = master.run("ls", expect=6)
        assert "det login" in error and "token\n" not in error.lower().split("check the")[0], error


@test
def a_master_that_does_not_answer_is_named():
    with Master("cli-0.38.1") as master:
        master.stop()
        assert master.url in master.run("ls", expect=8)


@test
def answers_that_are_none_are_errors():
    trial = "/api/v1/trials/1"
    for response, status, code, part in (
            ({"$raw": "<html>"}, 200, 6, "not valid JSON"), ({"$raw": ""}, 200, 6, "not valid"),
            ({"$raw": "null"}, 200, 6, "'trial' is missing"), ({"trial": []}, 200, 6, "'trial'"),
            ({"trial": {"id": "x"}}, 200, 6, "'trial.id'"),
            ({"trial": {"id": 1, "experimentId": None}}, 200, 6, "'trial.experimentId' is missing"),
            ({"trial": {"id": 1, "experimentId": 1, "state": "NEW"}}, 200, 6, "'trial.state'"),
            ({"$raw": "<html>\x1b[31mgone"}, 403, 6, "403"), ({}, 500, 5, "500"),
            ({}, 501, 7, "501"), ({"$raw": "nonsense"}, 418, 2, "418"), ({}, 302, 7, "302")):
        with Master("cli-0.38.1", answer(trial, response, status)) as master:
            error = master.run("show", "1", expect=code)
            assert part in error and master.url in error and "\x1b" not in error, error
    cut = answer(trial + "/logs", {"$raw": '{"result":{"id":"1"}}\n{"res'})
    with Master("cli-0.38.1", cut) as master:
        assert "not valid JSON" in master.run("logs", "1", expect=6)


@test
def nothing_from_a_master_steers_the_terminal():
    made = running("STATE_RUNNING")
    made[0]["response"]["experiment"]["name"] = "dig\x1bits"
    with Master("cli-0.38.1", *made) as master:
        for command in (["ls", "-e"], ["show", "15"]):
            text = master.on_terminal(*command, NO_COLOR="1")
            assert "\x1b" not in text and r"\x1b" in text, text


main({})
