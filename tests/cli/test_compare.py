#!/usr/bin/env python3
"""Several trials beside each other: `det compare`, and their curves in one plot."""
import contextlib
import csv
import io
import json
import sqlite3

from harness import Store, main, test


class Compared(Store):
    """Trials 1 and 2 have other learning rates; trial 3 is the only one of another experiment."""

    def __init__(self):
        super().__init__("complete", "many", "hostile")
        with contextlib.closing(sqlite3.connect(self.database())) as database, database:
            database.execute("UPDATE trials SET experiment_id = 1 WHERE id = 2")
            database.execute("UPDATE trials SET hparams = json_set(hparams, '$.lr', 0.5) WHERE id = 2")


def lines_of(text):
    return {" ".join(line.split()[:-2]): line.split()[-2:] for line in text.splitlines()}


@test
def compare_shows_what_differs_and_what_came_of_it(compared):
    text = compared.run("compare", "1", "2")
    lines = lines_of(text)
    assert lines["Trial"] == ["1", "2"] and lines["Steps"] == ["20", "2500"], text
    assert lines["lr"] == ["0.25", "0.5"] and "optimizer" not in text, text
    assert lines["training.loss last"] == ["0.1", "1"], text
    assert lines["training.loss highest"] == ["2", "1"], text
    assert lines["validation.accuracy best"] == ["0.8", "-"], text
    assert "validation.accuracy lowest" not in lines
    assert "The hyperparameters are the same." in compared.run("compare", "1", "3")


@test
def compare_takes_the_best_of_an_experiment(compared):
    assert lines_of(compared.run("compare", "-e", "1"))["Trial"] == ["1", "2"]
    assert compared.run("compare", "-e", "1", "-n", "1").splitlines()[0].split() == ["Trial", "1"]
    for wrong in ([], ["1", "-e", "1"], ["-e", "x"]):
        compared.run("compare", *wrong, expect=2)
    for missing in (["1", "77"], ["-e", "77"]):
        assert "77" in compared.run("compare", *missing, expect=3)


@test
def compare_writes_for_programs(compared):
    answer = json.loads(compared.run("compare", "1", "2", "--json"))
    assert answer["differing"] == ["lr"]
    loss = answer["trials"][0]["metrics"]["training"]["loss"]
    assert (loss["last"], loss["lowest_steps"], loss["highest"], loss["values"]) == (0.1, 20, 2, 20)
    rows = list(csv.DictReader(io.StringIO(compared.run("compare", "1", "2", "--csv"))))
    assert [row["hparams.lr"] for row in rows] == ["0.25", "0.5"]
    assert [row["validation.accuracy.highest"] for row in rows] == ["0.8", ""]


@test
def compare_puts_under_each_other_what_is_too_wide(compared):
    text = compared.on_terminal("compare", "1", "2", "3", COLUMNS="40")
    assert max(map(len, text.splitlines())) <= 40 and text.count("Trial ") == 3, text
    assert max(map(len, compared.on_terminal("compare", "1", "2", COLUMNS="20").splitlines())) <= 27
    assert compared.on_terminal("compare", "1", "2", "3", COLUMNS="90").count("Trial ") == 1


@test
def several_trials_share_a_plot(compared):
    text = compared.run("plot", "1", "2", "loss")
    assert "● trial 1 training.loss: last 0.1" in text, text
    assert "▲ trial 2 training.loss: last 1" in text, text
    assert "trial 1, " not in text
    assert "trial 2 has no metric 'accuracy'" in compared.run("plot", "1", "2", "accuracy", expect=3)
    compared.run("plot", "1", "77", expect=3)


@test
def a_plot_is_written_for_programs(compared):
    curves = compared.lines("plot", "1", "2", "loss")
    assert [(curve["trial_id"], curve["metric"]) for curve in curves] == [(1, "loss"), (2, "loss")]
    assert curves[0]["points"][0] == [1, 2] and curves[0]["points"][4] == [5, "NaN"]


@test
def a_plot_fits_a_narrow_terminal(compared):
    text = compared.run("plot", "1", "loss", env={"COLUMNS": "20"})
    assert max(map(len, text.splitlines()[:18])) <= 20, text


main({"compared": Compared()})
