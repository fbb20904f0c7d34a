#!/usr/bin/env python3
"""What `det plot` draws over steps, epochs and time, from one point to thousands of trials."""
import contextlib
import csv
import io
import json
import sqlite3

from harness import Store, main, test

NOON = 1769860800  # 2026-01-31 12:00 UTC
HOSTILE = "<b>&\"'\x1b[31mred\u202e\u0007|$(x)\n]]>"


class Plotted(Store):
    """Trial 1 tells its epochs in training alone, trial 2 nothing but times, trial 3 has one point,
    trial 4 has names and values that are hard to draw, trial 5 nothing."""

    def __init__(self):
        super().__init__("complete", "complete", "complete", "complete", "complete")
        with contextlib.closing(sqlite3.connect(self.database())) as self.records, self.records:
            self.records.execute("DELETE FROM metrics")
            self.records.execute("DELETE FROM metric_names")
            for step in range(1, 11):
                self.report(1, step * 100, NOON + step * 60, {"loss": 10 / step, "epoch": step / 2})
                if step % 5 == 0:
                    self.report(1, step * 100 + 50, NOON + step * 60 + 20, {"loss": step}, "validation")
            for second in range(5):
                self.report(2, None, NOON + 1000 + second, {"loss": second})
            self.report(2, None, NOON + 2000, {f"unit_{number}": number for number in range(300)})
            self.report(3, 7, NOON, {"loss": 0.25})
            self.report(4, 0, NOON, {HOSTILE: 1, "huge": 1.7e308, "tiny": 5e-324, "mixed": 1, "bad": "NaN"})
            for step, value in enumerate((-1.7e308, "Infinity", 0, "-Infinity", None, 100), 1):
                self.report(4, step, NOON + step, {HOSTILE: 2, "huge": value, "tiny": 0, "mixed": value})

    def report(self, trial, steps, time, metrics, group="training"):
        self.records.execute(
            "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics) VALUES (?, 1, ?, ?, ?, ?)",
            (trial, group, -1 if steps is None else steps, time * 1000000, json.dumps(metrics)))
        for name in metrics:
            self.records.execute("INSERT OR IGNORE INTO metric_names (trial_id, metric_group, name)"
                                 " VALUES (?, ?, ?)", (trial, group, name))

    def places(self, *arguments):
        """Of each curve where its points are along the axis."""
        return [[x for x, _ in curve["points"]] for curve in self.lines("plot", *arguments)]


@test
def epochs_of_one_group_are_those_of_all(plotted):
    training, validation = plotted.places("1", "-x", "epochs")
    assert training == [step / 2 for step in range(1, 11)] and validation == [2.5, 5]
    assert plotted.places("1", "validation.loss", "-x", "epochs") == [[2.5, 5]]
    rows = list(csv.DictReader(io.StringIO(plotted.run("plot", "1", "training.loss", "-x", "epochs", "--csv"))))
    assert (rows[9]["epochs"], rows[9]["value"]) == ("5.0", "1.0"), rows[9]
    text = plotted.run("plot", "1", "-x", "epochs")
    assert "epochs" in [line.strip() for line in text.splitlines()] and "lowest 5 at 2.5" in text, text


@test
def epochs_follow_from_the_configuration(store):
    store.make("many")
    assert "'epoch'" in store.run("plot", "1", "-x", "epochs", expect=3)
    for option in ("--json", "--csv"):
        assert "'epoch'" in store.run("plot", "1", "-x", "epochs", option, expect=3)
    with contextlib.closing(sqlite3.connect(store.database())) as records, records:
        records.execute("UPDATE experiments SET config = json_set(config, '$.records_per_epoch', 1000)")
        records.execute("UPDATE trials SET hparams = json_set(hparams, '$.global_batch_size', 20)")
    text = store.run("plot", "1", "-x", "epochs")
    assert "at 0.02," in text and text.splitlines()[-3].split()[-1] == "50", text


@test
def times_are_those_of_the_day_in_utc(plotted):
    training, validation = plotted.places("1", "-x", "time")
    assert training == [NOON + step * 60 for step in range(1, 11)] and validation == [NOON + 320, NOON + 620]
    lines = plotted.run("plot", "1", "-x", "time", env={"TZ": "America/New_York"}).splitlines()
    assert "12:02" in lines[-4] and lines[-3].strip() == "time (UTC)", lines
    assert "lowest 1 at 2026-01-31 12:10:00" in lines[-2], lines
    # In one picture the trials stand where they were in the day; by relative time, one over the other.
    assert plotted.places("1", "2", "loss", "-x", "time")[2] == [NOON + 1000 + second for second in range(5)]
    assert plotted.places("1", "2", "-x", "relative") == [
        [60 * step for step in range(10)], [260, 560], [0, 1, 2, 3, 4]]
    assert "--x relative" in plotted.run("plot", "1", "-x", "time", "--log-x", expect=2)
    assert "'days' is not an axis" in plotted.run("plot", "1", "-x", "days", expect=2)


@test
def what_has_no_steps_goes_along_the_time(plotted):
    assert plotted.lines("plot", "2")[0]["x"] == "relative"
    assert "has no steps for" in plotted.run("plot", "2", "-x", "steps", expect=3)
    assert "trial 2" in plotted.run("plot", "1", "2", "-x", "epochs", expect=3)


@test
def one_point_is_a_plot_and_none_an_error(plotted):
    for options in ([], ["--log-x", "--log-y"], ["-x", "time"], ["-x", "relative"], ["--smooth", "0.9"]):
        text = plotted.run("plot", "3", *options, "--ascii")
        assert "last 0.25, lowest 0.25" in text and text.count("*") == 2, text
    assert "no metrics yet" in plotted.run("plot", "5", "loss", expect=3)
    assert "no finite value to plot yet" in plotted.run("plot", "5", expect=3)
    assert "no finite value" in plotted.run("plot", "4", "bad", expect=3)


@test
def log_axes_take_what_is_above_0(plotted):
    text = plotted.run("plot", "4", "mixed", "--log-y")
    assert "last 100, lowest 1 at 0, highest 100 at 6, 3 not finite, 2 not above 0" in text, text
    text = plotted.run("plot", "4", "mixed", "--log-x", "--log-y")
    assert "last 100, lowest 100 at 6" in text and "3 not above 0" in text, text
    assert "no value is above 0" in plotted.run("plot", "4", "tiny", "--log-x", "--log-y", expect=3)


@test
def values_at_the_ends_of_a_double_are_drawn(plotted):
    for options in ([], ["--log-y"], ["--smooth", "0.5"], ["--log-x"]):
        text = plotted.run("plot", "4", "huge", "tiny", *options)
        assert "nan" not in text.lower() and "inf" not in text.lower(), text


@test
def a_hostile_name_steers_nothing(plotted):
    with contextlib.closing(sqlite3.connect(plotted.database())) as records:
        name = records.execute("SELECT name FROM metric_names WHERE name LIKE '<b>%'").fetchone()[0]
    assert name == HOSTILE
    for text in (plotted.run("plot", "4", HOSTILE), plotted.run("plot", "4", "nothing", expect=3),
                 plotted.run("plot", "4", HOSTILE + "x", expect=3),
                 plotted.on_terminal("plot", "4", HOSTILE, "--picture", "none", NO_COLOR="1")):
        assert not set(text) & {"\x1b", "\u202e", "\x07"} and "<b>&" in text, text
    assert plotted.lines("plot", "4", HOSTILE)[0]["metric"] == HOSTILE


@test
def an_unknown_metric_names_the_near_ones(plotted):
    assert "did you mean 'loss'?" in plotted.run("plot", "1", "los", expect=3)
    assert "did you mean 'validation.loss'?" in plotted.run("plot", "1", "validation.lss", expect=3)
    assert "did you mean 'epoch'?" in plotted.run("plot", "1", "epochs", expect=3)
    many = plotted.run("plot", "2", "other", expect=3)
    assert "loss, unit_0, unit_1" in many and "and 281 more" in many and len(many) < 500, many


@test
def thousands_of_trials_are_one_plot(store):
    store.make("complete")
    with contextlib.closing(sqlite3.connect(store.database())) as records, records:
        for number in range(2000):
            records.execute(
                "INSERT INTO trials (id, experiment_id, state, hparams, seed, task_id, created, ended, restarts,"
                " best_metric, best_order) VALUES (?, 1, 'COMPLETED', ?, 1, 'task', 1, 2, 0, ?, ?)",
                (10 + number, json.dumps({"lr": number, "units": number % 7}), str(number), -number))
            records.execute("INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics) VALUES"
                            " (?, 1, 'training', 1, 1, ?)", (10 + number, json.dumps({"loss": number})))
            records.execute("INSERT INTO metric_names (trial_id, metric_group, name) VALUES (?, 'training', 'loss')",
                            (10 + number,))
    text = store.run("plot", "1", "--parallel")
    assert "2001 trials" in text and len(text.splitlines()) == 20, text
    assert len(json.loads(store.run("plot", "1", "--slices", "--json"))["trials"]) == 2001
    text = store.run("plot", "-e", "1", "training.loss")
    assert "and 1977 more" in text and len(text) < 20000, text
    assert len(store.lines("plot", "-e", "1", "loss", "-n", "50")) == 50


main({"plotted": Plotted()})
