#!/usr/bin/env python3
"""What `det` shows of a store."""
import csv
import io
import json
import math
import re
import uuid

from harness import Store, main, test


@test
def ls_lists_trials_with_the_newest_first(filled):
    lines = filled.run("ls").splitlines()
    assert lines[0].split() == ["TRIAL", "EXP", "NAME", "STATE", "PROGRESS", "STEPS", "BEST",
                                "RUNS", "AGE"], lines
    assert [line.split()[0] for line in lines[1:]] == ["2", "1"]
    assert lines[2].split()[:8] == ["1", "1", r"dig\x1bits", "COMPLETED", "100%", "20", "0.8",
                                    "1"], lines


@test
def ls_takes_an_experiment(filled):
    assert [trial["id"] for trial in filled.lines("ls", "2")] == [2]
    assert "experiment" in filled.run("ls", "99", expect=3)


@test
def ls_lists_experiments(filled):
    assert [entry["name"] for entry in filled.lines("ls", "-e")] == ["long job", "dig\x1bits"]
    assert filled.run("ls", "-e").splitlines()[2].split()[:3] == ["1", r"dig\x1bits", "COMPLETED"]


@test
def show_tells_all_about_a_trial(filled):
    text = filled.run("show", "1")
    for part in (r"dig\x1bits", "COMPLETED", "nearly done", "lr", "0.25", "optimizer.name", "sgd",
                 "Runs", "RANKS", "training: loss, rate", "validation: accuracy, peak",
                 filled.lines("checkpoints", "1")[0]["uuid"]):
        assert part in text, f"{part!r} is not in:\n{text}"
    trial = json.loads(filled.run("show", "1", "--json"))
    assert trial["hparams"]["lr"] == 0.25
    assert trial["runs"][0]["nodes"] == 1
    assert [rank["exit"] for rank in trial["runs"][0]["ranks"]] == ["ok"]
@test
def show_tells_all_about_an_experiment(filled):
    text = filled.run("show", "-e", "1")
    for part in (r"dig\x1bits", "COMPLETED", "searcher.metric", "accuracy", "TRIAL"):
        assert part in text, f"{part!r} is not in:\n{text}"
    assert json.loads(filled.run("show", "-e", "1", "--json"))["id"] == 1


@test
def show_tells_all_about_a_checkpoint(filled):
    checkpoint = filled.lines("checkpoints", "1")[0]
    text = filled.run("show", checkpoint["uuid"])
    for part in (checkpoint["uuid"], "weights.bin", "steps_completed", "7 B"):
        assert part in text, f"{part!r} is not in:\n{text}"


@test
def metrics_merge_the_reports_of_a_step(filled):
    lines = filled.run("metrics", "1").splitlines()
    assert lines[0].split() == ["GROUP", "STEPS", "loss", "rate", "accuracy", "peak"]
    assert lines[1].split() == ["training", "1", "2", "0.5"]
    assert lines[5].split() == ["training", "5", "NaN", "0.5"]
    assert lines[-1].split() == ["validation", "20", "0.8", "Infinity"]
    assert len(lines) == 1 + 20 + 2


@test
def metrics_of_a_group_or_a_name(filled):
    lines = filled.run("metrics", "1", "--group", "validation", "--name", "accuracy").splitlines()
    assert [line.split() for line in lines] == [["GROUP", "STEPS", "accuracy"],
                                                ["validation", "10", "0.4"],
                                                ["validation", "20", "0.8"]]
    reports = filled.lines("metrics", "1", "--group", "validation")
    assert {report["group"] for report in reports} == {"validation"}
    assert "training: loss, rate" in filled.run("metrics", "1", "--name", "los", expect=3)
    assert "training: loss, rate" in filled.run("metrics", "1", "--group", "train", expect=3)


@test
def metrics_as_csv_keep_every_digit(filled):
    rows = list(csv.DictReader(io.StringIO(filled.run("metrics", "1", "--csv"))))
    assert len(rows) == 22
    assert float(rows[2]["loss"]) == 2 / 3 and rows[2]["accuracy"] == ""
    assert math.isnan(float(rows[4]["loss"])) and float(rows[-1]["peak"]) == math.inf


@test
def metrics_as_json_are_the_reports(filled):
    reports = filled.lines("metrics", "1", "--name", "loss")
    assert [report["steps_completed"] for report in reports] == list(range(1, 21))
    assert reports[2]["metrics"] == {"loss": 2 / 3} and reports[4]["metrics"] == {"loss": "NaN"}


@test
def nothing_printed_steers_a_terminal_or_a_spreadsheet(store):
    store.make("hostile")
    for option in ("--csv", "--json"):
        text = store.on_terminal("metrics", "1", option)
        assert "=1+2" in text and "\x1b" not in text and "\u202e" not in text, text
    text = store.run("metrics", "1", "--csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][4:] == ["'=1+2", "\x1b[31mred\u202e"], rows
    assert rows[1][0] == "'@group" and rows[1][4:] == ["-0.5", "2.0"], rows
    text = store.run("metrics", "1", "--json")
    assert "\u202e" not in text, text
    assert json.loads(text.splitlines()[1])["metrics"] == {"\x1b[31mred\u202e": 2}


@test
def metrics_come_page_by_page(filled):
    assert len(filled.run("metrics", "2").splitlines()) == 2501
    assert len(filled.run("metrics", "2", "--csv").splitlines()) == 2501
    assert [r["steps_completed"] for r in filled.lines("metrics", "2")] == list(range(1, 2501))


@test
def a_name_in_the_middle_of_many_reports_is_known(store):
    store.make("rare")
    lines = store.run("metrics", "1").splitlines()
    assert lines[0].split() == ["GROUP", "STEPS", "loss", "rare"], lines[0]
    assert lines[500].split() == ["training", "500", "7"], lines[500]
    assert len(lines) == 1001
    assert store.run("metrics", "1", "--csv").splitlines()[0].endswith(",loss,rare")
    assert [r["metrics"] for r in store.lines("metrics", "1", "--name", "rare")] == [{"rare": 7}]
    assert "training.rare" in store.run("plot", "1", "rare")


@test
def plot_draws_the_losses_unless_told_otherwise(filled):
    text = filled.run("plot", "1", env={"COLUMNS": "60"})
    assert "training.loss: last 0.1, lowest 0.1 at 20, highest 2 at 1, 1 not finite" in text
    assert "accuracy" not in text and max(map(len, text.splitlines()[:18])) <= 60
    text = filled.run("plot", "1", "loss", "validation.accuracy")
    assert "training.loss" in text and "▲ validation.accuracy" in text


@test
def plot_is_ascii_where_the_locale_is(filled):
    for arguments, locale in ((["--ascii"], "C.UTF-8"), ([], "C")):
        assert filled.run("plot", "1", *arguments, env={"LC_ALL": locale}).isascii()


@test
def plot_says_what_there_is_to_draw(filled):
    assert "training: loss, rate" in filled.run("plot", "1", "nope", expect=3)
    assert "did you mean 'loss'?" in filled.run("plot", "1", "lsos", expect=3)
    assert "no finite value" in filled.run("plot", "1", "peak", expect=3)


@test
def logs_show_lines_with_their_level(filled):
    lines = filled.run("logs", "1").splitlines()
    assert [re.sub(r"^[-0-9]{10} [:0-9]{8} ", "", line) for line in lines] == [
        "info    first line", "info    second line", "warning red \x1b[31malert", "error   it broke"]
    assert len(filled.run("logs", "1", "--level", "warning").splitlines()) == 2
    for written in ("WARNING", "warn"):
        assert len(filled.run("logs", "1", "-l", written).splitlines()) == 2
    assert [entry["text"] for entry in filled.lines("logs", "1", "--level", "error")] == ["it broke"]
    filled.run("logs", "1", "--follow")  # ends, since the trial has
    filled.run("logs", "1", "--level", "loud", expect=2)


@test
def checkpoints_are_listed(filled):
    lines = filled.run("checkpoints").splitlines()
    assert lines[0].split() == ["UUID", "TRIAL", "STEPS", "STATE", "SIZE", "AGE"]
    fields = lines[1].split()
    assert filled.lines("checkpoints")[0]["uuid"].startswith(fields[0]) and len(fields[0]) == 8
    assert fields[1:4] == ["1", "20", "COMPLETED"]
    assert filled.run("checkpoints", "2") == "No checkpoints yet.\n"


@test
def json_goes_with_every_reading_command(filled):
    for command in (["ls"], ["ls", "-e"], ["show", "1"], ["show", "-e", "1"], ["metrics", "1"],
                    ["logs", "1"], ["checkpoints"], ["version"]):
        assert all(isinstance(entry, dict) for entry in filled.lines(*command))


@test
def unknown_ids_are_not_found(filled):
    for command in (["show", "77"], ["show", "-e", "77"], ["show", str(uuid.uuid4())],
                    ["metrics", "77"], ["plot", "77"], ["logs", "77"], ["checkpoints", "77"],
                    ["pause", "77"], ["kill", "-e", "77"]):
        filled.run(*command, expect=3)


@test
def ids_are_whole_numbers_or_external(filled):
    for text in ("0", "-1", "+1", "1x", "0x1", "1.0", "1e3", " 1", "", "9223372036854775808", "²"):
        for command in (["ls"], ["trials"], ["show", "-e"], ["kill", "-e"], ["compare", "-e"]):
            assert "is not an ID" in filled.run(*command, text, expect=2), text
        for command in ("show", "metrics", "plot", "logs", "checkpoints", "pause", "kill"):
            assert " trial" in filled.run(command, text, expect=3 if text else 2), (command, text)


@test
def nothing_from_the_store_steers_the_terminal(filled):
    for command in (["ls"], ["ls", "-e"], ["show", "1"], ["logs", "1"]):
        text = filled.on_terminal(*command, NO_COLOR="1")
        assert "\x1b" not in text and r"\x1b" in text, text


@test
def colours_are_for_terminals(filled):
    assert "\x1b[32mCOMPLETED\x1b[0m" in filled.on_terminal("ls")
    assert "\x1b[" not in filled.on_terminal("ls", NO_COLOR="1")
    assert "\x1b[" not in filled.on_terminal("ls", TERM="dumb")
    assert "\x1b[" not in filled.run("ls")


main({"filled": Store("complete", "many")})
