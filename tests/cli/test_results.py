#!/usr/bin/env python3
"""What `det` makes of the trials of a search."""
import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import uuid

from harness import Store, main, test

CONFIG = {
    "searcher": {"name": "random", "metric": "loss", "smaller_is_better": True},
    "hyperparameters": {"opt": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": 0}}},
}


def add_search(store, state="COMPLETED"):
    """Eight finished trials, as a search leaves them: the loss is ten times the learning rate, or 9
    more where the optimizer is `adam`; and one that has no loss."""
    with contextlib.closing(sqlite3.connect(store.database())) as database, database:
        experiment = database.execute(
            "INSERT INTO experiments (name, state, config, created, ended, progress, managed)"
            " VALUES ('search', ?, ?, 1767225600000000, 1767225725000000, 1, 1)",
            (state, json.dumps(CONFIG))).lastrowid
        for number in range(1, 10):
            lr, adam = number / 10, number % 2 == 0
            loss = None if number == 9 else 10 * lr + 9 * adam
            hparams = {"opt": {"lr": lr, "name": "adam" if adam else "sgd"}, "batch": 64}
            trial = database.execute(
                "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created, ended,"
                " restarts) VALUES (?, ?, ?, 1, 'task', 1767225600000000, 1767225645000000, ?)",
                (experiment, "ERROR" if number == 9 else "COMPLETED", json.dumps(hparams),
                 number == 9)).lastrowid
            if loss is None:
                continue
            row = database.execute(
                "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
                " VALUES (?, 1, 'validation', 100, 1, ?)",
                (trial, json.dumps({"loss": loss}))).lastrowid
            database.execute(
                "UPDATE trials SET best_validation=?, best_metric=?, best_order=? WHERE id=?",
                (row, json.dumps(loss), loss, trial))
    return experiment


class Searched(Store):
    """Experiment 1 is one trial with a checkpoint, experiment 2 a search; its trials are 2 to 10."""

    def __init__(self):
        super().__init__("complete")
        add_search(self)


@test
def plot_of_an_experiment_draws_the_metric_of_its_searcher(searched):
    with contextlib.closing(sqlite3.connect(searched.database())) as database, database:
        for trial in range(2, 11):
            database.execute(
                "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
                " VALUES (?, 1, 'training', 50, 1, '{\"loss\": 1}')", (trial,))
    def drawn(*arguments):
        return {(curve["group"], curve["metric"]) for curve in searched.lines("plot", *arguments)}
    assert drawn("-e", "2") == {("validation", "loss")}
    assert drawn("-e", "2", "loss") == {("validation", "loss"), ("training", "loss")}
    with contextlib.closing(sqlite3.connect(searched.database())) as database, database:
        database.execute("DELETE FROM metrics WHERE metric_group='training' AND steps=50")


@test
def experiments_show_how_far_and_how_good_they_are(searched):
    lines = searched.run("experiments").splitlines()
    assert lines[0].split() == ["EXP", "NAME", "STATE", "PROGRESS", "DONE", "BEST", "METRIC",
                                "SEARCHER", "AGE", "TOOK"], lines
    fields = lines[1].split()
    assert fields[:8] == ["2", "search", "COMPLETED", "100%", "9/9", "1", "loss", "random"], lines
    assert lines[1].endswith("2m05s")
    entry = searched.lines("experiments")[0]
    assert entry["trials_done"] == 9 and entry["best_metric"] == 1
    rows = list(csv.DictReader(io.StringIO(searched.run("experiments", "--csv"))))
    assert [row["id"] for row in rows] == ["2", "1"] and rows[0]["searcher_metric"] == "loss"


@test
def trials_come_best_first_with_what_varies(searched):
    lines = searched.run("trials", "2").splitlines()
    assert lines[0].split() == ["TRIAL", "loss", "opt.lr", "opt.name", "STEPS", "STATE", "TOOK",
                                "RESTARTS"], lines
    assert [line.split()[0] for line in lines[1:]] == ["2", "4", "6", "8", "3", "5", "7", "9",
                                                       "10"]
    assert lines[1].split() == ["2", "1", "0.1", "sgd", "100", "COMPLETED", "45s", "0"]
    assert lines[9].split()[:2] == ["10", "-"] and lines[9].endswith("1")


@test
def trials_are_sorted_by_what_is_asked_for(searched):
    def ids(*arguments):
        return [entry["id"] for entry in searched.lines("trials", "2", *arguments)]
    assert ids("--reverse") == [10, 9, 7, 5, 3, 8, 6, 4, 2]
    assert ids("-n", "2") == [2, 4]
    assert ids("--sort", "id", "-n", "2") == [2, 3]
    assert ids("--sort", "opt.lr", "--reverse") == [10, 9, 8, 7, 6, 5, 4, 3, 2]
    assert ids("--sort", "opt.name") == [3, 5, 7, 9, 2, 4, 6, 8, 10]
    assert ids("--sort", "state")[-1] == 10
    message = searched.run("trials", "2", "--sort", "nope", expect=2)
    assert "opt.lr" in message and "metric" in message
    searched.run("trials", "2", "-n", "0", expect=2)


@test
def trials_as_csv_have_every_hyperparameter(searched):
    rows = list(csv.DictReader(io.StringIO(searched.run("trials", "2", "--csv"))))
    assert len(rows) == 9 and rows[0]["hparams.batch"] == "64"
    assert float(rows[1]["hparams.opt.lr"]) == 0.3 and rows[8]["best_metric"] == ""


@test
def best_names_the_checkpoint_and_its_files(searched):
    text = searched.run("best", "1")
    best = json.loads(searched.run("best", "1", "--json"))
    checkpoint = best["checkpoint"]
    assert str(uuid.UUID(checkpoint["uuid"])) == checkpoint["uuid"]
    assert os.path.exists(os.path.join(checkpoint["directory"], "weights.bin"))
    for part in ("Trial 1 is the best of experiment 1", "accuracy 0.8 at step 20",
                 "larger is better", "0.25", "20, where the metric was best",
                 checkpoint["directory"], f'const char *uuid = "{checkpoint["uuid"]}";',
                 "det_checkpoint_reader_open(checkpoint, uuid, NULL, &stored, &err);",
                 f'context.checkpoint.restore_path("{checkpoint["uuid"]}")',
                 f"det checkpoints get {checkpoint['uuid']} DIRECTORY",
                 f"source_checkpoint_uuid: {checkpoint['uuid']}"):
        assert part in text, f"{part!r} is not in:\n{text}"
    to_copy = text[text.index("To load it"):].splitlines()
    assert max(map(len, to_copy)) <= 80, to_copy


@test
def best_does_without_a_checkpoint(searched):
    text = searched.run("best", "2")
    assert "Trial 2 is the best" in text and "no checkpoint" in text, text
    assert "loss 1 at step 100 (smaller is better)" in text


@test
def best_says_when_there_is_none(store):
    store.make("many")
    assert "accuracy" in store.run("best", "1", expect=3)
    assert json.loads(store.run("best", "1", "--json"))["trial"] is None


@test
def hparams_puts_what_mattered_first(searched):
    lines = searched.run("hparams", "2").splitlines()
    assert lines[0] == "Importance for loss (smaller is better), from 8 finished trials"
    titles = [line for line in lines if re.match(r"\S+  \d\.\d\d, p", line)]
    assert [title.split()[0] for title in titles] == ["opt.name", "opt.lr"], lines
    assert "likely" in titles[0] or "clear" in titles[0]
    assert "may be chance" in titles[1] and "better" not in titles[1]
    start = lines.index(titles[0])
    # The losses of sgd are 1, 3, 5 and 7, of 1 to 17: quartiles 2.5, 4 and 5.5.
    assert lines[start + 1] == "   sgd  ───━━━●━━━───" + 19 * " " + "  4, 4 trials", lines
    assert lines[start + 2].startswith("  adam  ") and lines[start + 2].endswith("14, 4 trials")
    assert searched.run("hparams", "2", env={"LC_ALL": "C"}).isascii()
    answer = json.loads(searched.run("hparams", "2", "--json"))
    assert answer["hparams"][0]["groups"][1]["metric"] == [11, 12.5, 14, 15.5, 17]


@test
def hparams_wants_trials_enough(searched):
    assert "1 finished trial" in searched.run("hparams", "1", expect=5)


@test
def gc_shows_and_deletes_what_is_not_kept(store):
    store.make("complete")
    assert store.run("gc", "1") == "Nothing to delete.\n"
    with contextlib.closing(sqlite3.connect(store.database())) as database, database:
        database.execute("UPDATE experiments SET config=json_set(config, '$.checkpoint_storage',"
                         " json('{\"save_trial_best\":0,\"save_trial_latest\":0}'))")
    directory = json.loads(store.run("best", "1", "--json"))["checkpoint"]["directory"]
    assert "1 checkpoint, 34 B, would be deleted" in store.run("gc", "1", "--dry-run")
    assert os.path.exists(directory)
    assert "1 checkpoint, 34 B, deleted" in store.run("gc", "1")
    assert not os.path.exists(directory)
    assert store.lines("checkpoints", "1")[0]["state"] == "DELETED"


@test
def unknown_experiments_are_not_found(searched):
    for command in ("trials", "best", "hparams", "gc"):
        assert "77" in searched.run(command, "77", expect=3)
        assert "is not an ID" in searched.run(command, "x", expect=2)


@test
def completion_offers_what_to_sort_by(searched):
    offered = searched.run("__complete", "--", "trials", "2", "--sort", "")
    assert {line.split("\t")[0] for line in offered.splitlines()} == {
        "metric", "id", "state", "steps", "opt.lr", "opt.name", "batch"}
    assert "2\t" in searched.run("__complete", "--", "best", "")


main({"searched": Searched()})
