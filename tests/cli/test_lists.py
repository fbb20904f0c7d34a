#!/usr/bin/env python3
"""How lists are sorted, cut, written for other programs, and paged."""
import csv
import io
import json
import os
import shutil
import stat

from harness import Store, main, test

LISTS = (["ls"], ["ls", "-e"], ["experiments"], ["checkpoints"], ["trials", "1"], ["metrics", "1"])


def rows(store, *arguments):
    return list(csv.DictReader(io.StringIO(store.run(*arguments, "--csv"))))


@test
def lists_end_after_as_many_as_are_wanted(filled):
    for command in (["ls"], ["experiments"], ["ls", "-e"]):
        assert [entry["id"] for entry in filled.lines(*command, "-n", "2")] == [3, 2]
        assert len(filled.run(*command, "-n", "2").splitlines()) == 3
        assert len(rows(filled, *command, "-n", "1")) == 1
    assert len(filled.lines("checkpoints", "-n", "1")) == 1
    for command in LISTS:
        assert "is not a count" in filled.run(*command, "-n", "0", expect=2)


@test
def a_filter_that_nothing_fits_is_named(filled):
    for command in (["ls"], ["ls", "-e"], ["experiments"]):
        out = filled.run(*command, "--state", "error", "--name", "x*")
        assert out == "Nothing here with --state 'error', --name 'x*'.\n", out
    assert filled.run("ls", "--tag", "t") == "Nothing here with --tag 't'.\n"
    assert filled.run("ls", "--archived") == "Nothing here with --archived.\n"
    assert filled.run("ls", "--state", "error", "--json") == ""


@test
def logs_are_read_from_their_end(store):
    store.make("talk")
    everything = store.lines("logs", "1")
    assert len(everything) == 2500
    for count in (1, 3, 100, 1200, 2499, 2500, 9999):
        assert store.lines("logs", "1", "-n", str(count)) == everything[-count:], count
    assert store.run("logs", "1", "-n", "1", "--level", "error").endswith("line 700\n")
    assert store.run("logs", "1", "-f", "-n", "2").count("\n") == 2


@test
def metrics_end_after_as_many_rows_or_reports(filled):
    lines = filled.run("metrics", "1", "-n", "3").splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["1", "2", "3"]
    lines = filled.run("metrics", "1", "loss", "--reverse", "-n", "2").splitlines()
    assert [line.split() for line in lines[1:]] == [["training", "20", "0.1"],
                                                    ["training", "19", "0.105263"]]
    assert len(rows(filled, "metrics", "2", "-n", "1500")) == 1500
    reports = filled.lines("metrics", "1", "--name", "accuracy", "-n", "1")
    assert [report["metrics"] for report in reports] == [{"accuracy": 0.4}]


@test
def lists_are_sorted_by_what_is_asked_for(filled):
    def ids(*arguments):
        return [entry["id"] for entry in filled.lines(*arguments)]
    assert ids("ls", "-r") == [1, 2, 3]
    assert ids("ls", "-s", "steps") == [3, 1, 2] and ids("ls", "-s", "steps", "-r") == [2, 1, 3]
    assert ids("ls", "-s", "metric", "-n", "1") == ids("ls", "-s", "metric", "-rn", "1") == [1]
    assert ids("experiments", "-s", "name")[0] == 1
    assert [row["id"] for row in rows(filled, "ls", "-s", "start")] == ["1", "2", "3"]
    assert filled.run("ls", "-s", "id").splitlines()[1].split()[0] == "1"
    assert "uuid, trial, steps" in filled.run("checkpoints", "-s", "nope", expect=2)


@test
def metrics_are_sorted_by_their_values(filled):
    lines = filled.run("metrics", "1", "loss", "-s", "loss", "-n", "2").splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["20", "19"]
    for turned in (False, True):  # what is no number comes last
        values = [report["metrics"]["loss"] for report in
                  filled.lines("metrics", "1", "--name", "loss", "-s", "loss", *["-r"] * turned)]
        assert values == sorted(values[:-1], reverse=turned) + ["NaN"]
    assert float(rows(filled, "metrics", "1", "-s", "accuracy", "-r")[0]["accuracy"]) == 0.8
    assert "steps, loss" in filled.run("metrics", "1", "loss", "-s", "rate", expect=2)


@test
def every_list_is_written_as_csv(filled):
    assert rows(filled, "ls")[2]["best_metric"] == "0.8"
    assert rows(filled, "ls", "-e")[0]["id"] == "3"
    assert rows(filled, "checkpoints")[0]["state"] == "COMPLETED"
    for command in LISTS:
        filled.run(*command, "--csv", "--json", expect=2)


def pager(store, script):
    """A pager that does so."""
    path = os.path.join(store.home, "pager")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + script + "\n")
    os.chmod(path, stat.S_IRWXU)
    return path


@test
def lists_go_through_the_pager_of_a_terminal(filled):
    numbering = pager(filled, "sed 's/^/paged: /'")
    for command in LISTS + (["logs", "1"],):
        text = filled.on_terminal(*command, PAGER=numbering)
        assert text.startswith("paged: "), text
        assert "paged" not in filled.on_terminal("--no-pager", *command, PAGER=numbering)
        assert "paged" not in filled.on_terminal(*command, PAGER=numbering, TERM="dumb")
        assert "paged" not in filled.run(*command, env={"PAGER": numbering})
    assert "TRIAL" in filled.on_terminal("ls", PAGER="/nowhere/pager")
    assert "TRIAL" in filled.on_terminal("ls", PAGER=" ")


@test
def a_pager_may_be_left_early(filled):
    for script in ("head -n 1", "exit 3", "read line; echo $line"):
        text = filled.on_terminal("metrics", "2", PAGER=pager(filled, script))
        assert text.count("\n") <= 1 and "det:" not in text, text


@test
def an_error_comes_behind_the_pager(filled):
    text = filled.on_terminal("metrics", "77", expect=3, PAGER=pager(filled, "cat"))
    assert text.startswith("det: ") and "77" in text


@test
def less_ends_by_itself_where_everything_is_seen(filled):
    if shutil.which("less"):
        env = {"PAGER": "less", "LESS": "FRX"}
        assert "TRIAL" in filled.on_terminal("ls", **env)


main({"filled": Store("complete", "many", "hostile")})
