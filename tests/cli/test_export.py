#!/usr/bin/env python3
"""What `det export` writes for other programs, and when."""
import csv
import json
import os
import resource
import signal
import subprocess

from harness import DET, Store, main, test


def read(path):
    with open(path, newline="") as file:
        return file.read()


def rows(store, *arguments):
    path = os.path.join(store.home, "export.csv")
    store.run("export", *arguments, path)
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@test
def metrics_have_a_row_for_each_value(filled):
    metrics = rows(filled, "1")
    assert len(metrics) == 43
    assert list(metrics[0]) == ["trial_id", "group", "steps_completed", "trial_run_id", "time",
                                "metric", "value"]
    assert (metrics[4]["steps_completed"], metrics[4]["metric"]) == ("3", "loss")
    assert float(metrics[4]["value"]) == 2 / 3
    assert metrics[8]["value"] == "NaN"
    assert len(rows(filled, "2")) == 2500
    assert [row["trial_id"] for row in rows(filled, "-e", "2")] == ["2"] * 2500


@test
def json_lines_have_an_object_for_each_report(filled):
    path = os.path.join(filled.home, "metrics.jsonl")
    assert filled.run("export", "1", path) == f"Wrote {path}: 43 rows.\n"
    reports = [json.loads(line) for line in read(path).splitlines()]
    assert reports[0]["trial_id"] == 1 and reports[0]["metrics"] == {"loss": 2.0}
    assert filled.run("export", "1", "--format", "jsonl") == read(path)
    assert filled.run("export", "1", "-", "--format", "jsonl") == read(path)


@test
def trials_have_their_hyperparameters(filled):
    trials = rows(filled, "-e", "1", "--table", "trials")
    assert [(row["id"], row["hparams.lr"], row["hparams.optimizer.name"], row["best_metric"])
            for row in trials] == [("1", "0.25", "sgd", "0.8")]
    assert rows(filled, "1", "--table", "trials") == trials
    lines = filled.run("export", "-e", "1", "--table", "trials", "--format", "jsonl").splitlines()
    assert json.loads(lines[0])["hparams"]["lr"] == 0.25


@test
def checkpoints_have_their_sizes(filled):
    for source in (["1"], ["-e", "1"]):
        checkpoints = rows(filled, *source, "--table", "checkpoints")
        assert [(row["trial_id"], row["size"]) for row in checkpoints] == [("1", "34")]


@test
def what_cannot_be_exported_is_told(filled):
    for wrong in ([], ["-e", "1", "a.csv", "b.csv"], ["1", "a.foo"],
                  ["1", "--format", "xml"], ["1", "--table", "logs"]):
        filled.run("export", *wrong, expect=2)
    for missing in (["77"], ["-e", "77"]):
        assert "77" in filled.run("export", *missing, expect=3)
    assert "det help export" in filled.run("export", "1", "a.parquet", expect=7)
    assert "duckdb" in filled.run("help", "export")


@test
def a_file_is_whole_or_as_it_was(filled):
    path = os.path.join(filled.home, "whole.csv")
    with open(path, "w") as file:
        file.write("before")

    def with_small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (80000, 80000))
    done = subprocess.run([DET, "export", "2", path], env=filled.env, capture_output=True,
                          preexec_fn=with_small_files)
    assert done.returncode == 6 and b"File too large" in done.stderr, done
    assert read(path) == "before"
    assert [name for name in os.listdir(filled.home) if "whole" in name] == ["whole.csv"]
    filled.run("export", "2", path)
    assert len(read(path).splitlines()) == 2501


@test
def a_link_is_followed_and_a_device_is_written(filled):
    path, link = (os.path.join(filled.home, name) for name in ("linked.csv", "link.csv"))
    open(path, "w").close()
    os.symlink(path, link)
    filled.run("export", "1", link)
    assert os.path.islink(link) and len(read(path).splitlines()) == 44
    assert "No space left" in filled.run("export", "1", "/dev/full", "--format", "csv", expect=6)


main({"filled": Store("complete", "many")})
