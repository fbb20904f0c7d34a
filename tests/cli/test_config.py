#!/usr/bin/env python3
"""`det config`: what is wrong with a configuration, and the whole of one."""
import json
import os
import subprocess

from harness import DET, Store, main, test

GOOD = """\
entrypoint: ./train
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
  "on": "a b: \\u263a"
searcher: {name: random, metric: loss, max_trials: 4, max_length: {batches: 10}}
"""
BAD = """\
entrypoint: ./train
searcher:
  name: random
  metric: loss
  max_trails: 4
  max_length: 10
max_restarts: -1
"""


def write(store, text, name="exp.yaml"):
    path = os.path.join(store.home, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def run(store, *arguments, text=""):
    done = subprocess.run([DET, "config", *arguments], env=store.env, input=text,
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@test
def check_lists_every_problem_with_its_line(store):
    path = write(store, BAD)
    code, out, err = run(store, "check", path)
    assert code == 2
    assert out.splitlines() == [
        f"{path}:5: <config>.searcher: unknown key 'max_trails'; did you mean 'max_trials'?",
        f"{path}:7: <config>.max_restarts: must be at least 0, found -1",
        f"{path}:2: <config>.searcher: 'max_trials' is missing"], out
    assert err == f"det: {path} has 3 problems\n"


@test
def check_says_when_there_are_none(store):
    path = write(store, GOOD)
    assert store.run("config", "check", path) == f"{path} is complete\n"
    assert store.run("config", "check", path, "--json") == ""


@test
def check_reads_standard_input(store):
    assert store.run("config", "check", "-", input=GOOD) == "standard input is complete\n"
    code, out, _ = run(store, "check", "-", text="a: [")
    assert code == 2 and out.startswith("standard input:2:1: <config>: not valid YAML"), out


@test
def check_prints_problems_for_programs(store):
    code, out, _ = run(store, "check", write(store, BAD), "--json")
    problems = [json.loads(line) for line in out.splitlines()]
    assert code == 2 and len(problems) == 3
    assert problems[0]["path"] == "<config>.searcher" and problems[0]["key"] == "max_trails"
    assert problems[1]["kind"] == "out_of_range" and problems[1]["line"] == 7


@test
def show_fills_in_defaults(store):
    config = json.loads(store.run("config", "show", write(store, GOOD), "--json"))
    assert config["max_restarts"] == 5 and config["searcher"]["max_concurrent_trials"] == 16
    assert config["checkpoint_storage"] == {
        "type": "shared_fs", "save_experiment_best": 0, "save_trial_best": 1,
        "save_trial_latest": 1, "host_path": store.home, "storage_path": None,
        "propagation": "rprivate"}


@test
def show_prints_yaml_that_says_the_same(store):
    path = write(store, GOOD + "name: x\nreproducibility: {experiment_seed: 1}\n")
    text = store.run("config", "show", path)
    assert "\nmax_restarts: 5\n" in text and "  metric: loss\n" in text, text
    again = write(store, text, "again.yaml")
    assert store.run("config", "show", again) == text
    assert store.run("config", "show", again, "--json") == store.run("config", "show", path, "--json")


@test
def show_of_a_bad_configuration_names_the_first_problem(store):
    path = write(store, BAD)
    message = store.run("config", "show", path, expect=2)
    assert f"{path}:5: <config>.searcher: unknown key 'max_trails'" in message
    assert "2 more problems" in message


@test
def rules_of_another_release_can_be_chosen(store):
    path = write(store, GOOD.replace("max_length: {batches: 10}", ""))
    assert run(store, "check", path)[0] == 2
    assert store.run("config", "check", path, "--rules", "0.38") == f"{path} is complete\n"
    assert "0.33 or 0.38" in store.run("config", "check", path, "--rules", "1", expect=2)


@test
def storage_is_that_of_the_store_that_is_named(store):
    path = write(store, GOOD)
    config = json.loads(store.run("config", "show", path, "--json", "-m", "/other/store"))
    assert config["checkpoint_storage"]["host_path"] == "/other/store"


@test
def files_that_cannot_be_read_are_named(store):
    assert "nowhere.yaml" in store.run("config", "check", "nowhere.yaml", expect=3)
    assert store.home in store.run("config", "check", store.home, expect=6)
    message = store.run("config", "check", write(store, "a: 1\n\0"), expect=2)
    assert "line 2" in message and "NUL" in message, message


@test
def the_command_may_come_from_run(store):
    path = os.path.join(store.home, "exp.yaml")
    with open(path, "w") as file:
        file.write("searcher: {name: single, metric: loss, max_length: 1}\n")
    out = store.run("config", "check", path)
    assert "warning: 'entrypoint' is missing" in out and "after '--'" in out, out
    assert out.endswith("exp.yaml is complete\n"), out
    assert "max_restarts: 5" in store.run("config", "show", path)


@test
def text_of_another_encoding_is_told(store):
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path = os.path.join(store.home, encoding)
        with open(path, "w", encoding=encoding) as file:
            file.write(GOOD)
        message = store.run("config", "check", path, expect=2)
        assert "UTF-16; save it in UTF-8" in message, message
    code, out, _ = run(store, "check", write(store, "searcher:\n\tname: single\n"))
    assert code == 2 and "exp.yaml:2:1: <config>: not valid YAML" in out and "tab" in out, out


@test
def what_cannot_be_run_anywhere_is_a_problem(store):
    def check(more, **replaced):
        text = GOOD
        for old, new in replaced.items():
            text = text.replace(old, new)
        code, out, _ = run(store, "check", write(store, text + more))
        assert code == 2, out
        return out
    out = check('log_policies:\n- action: {type: cancel_retries}\n  pattern: "("\n')
    assert ":8: <config>.log_policies[0]: the pattern '(' of log_policies is no regular" in out, out
    out = check("resources:\n  slots_per_trial: 4\n  max_slots: 2\n")
    assert ":8: <config>.resources: each trial needs 4 slots" in out and "max_slots" in out, out
    # More points than there is time for.
    grid = "".join(f"  x{i}: {{type: double, minval: 0, maxval: 1, count: 1000}}\n" for i in range(4))
    text = "entrypoint: ./train\nhyperparameters:\n" + grid + \
        "searcher: {name: grid, metric: loss, max_length: {batches: 10}}\n"
    code, out, _ = run(store, "check", write(store, text))
    assert code == 2 and ":7: <config>.searcher: the grid" in out and "1000000000000 points" in out, out
    assert "points" in store.run_loudly("run", write(store, text), expect=2)


@test
def what_is_read_otherwise_than_meant_is_warned_of(store):
    text = GOOD + "name: a\nname: b\nmax_restarts: 0\n"
    text = text.replace("  lr:", "  y: 1\n  lr:")
    path = write(store, text)
    out = store.run("config", "check", path)
    assert out.splitlines() == [
        f"{path}:3: <config>.hyperparameters: warning: the key 'y' is read as true, as YAML has it; "
        "to have a key of that name, write it in quotes",
        f"{path}:8: <config>: warning: the key 'name' is in line 7 already; this one counts",
        f"{path} is complete"], out
    assert [(p["severity"], p["kind"]) for p in store.lines("config", "check", path)] == [
        ("warning", "boolean_key"), ("warning", "repeated_key")]
    out = store.run_loudly("run", path, "--", "/bin/false", expect=9)
    assert ":3: <config>.hyperparameters: warning: the key 'y'" in out, out


@test
def texts_are_bounded_and_control_characters_do_not_get_out(store):
    path = write(store, "a" * (10 << 20))
    code, out, _ = run(store, "check", path)
    assert code == 2 and "at most 1048576" in out, out
    code, out, _ = run(store, "check", write(store, '"\\e[31m": 1\n'))
    assert code == 2 and "\x1b" not in out and r"\x1b[31m" in out, out


@test
def what_to_do_must_be_said(store):
    assert "--help" in store.run("config", expect=2)
    assert "--help" in store.run("config", "check", expect=2)


@test
def completion_knows_what_follows(store):
    def complete(*words):
        out = store.run("__complete", "--", *words)
        return [line.split("\t")[0] for line in out.splitlines()]
    assert complete("con") == ["config"]
    assert complete("config", "") == ["check", "show"]
    assert complete("config", "check", "") == [":files"]
    assert complete("config", "check", "--rules", "") == ["0.33", "0.38"]
    assert complete("config", "show", "--j") == ["--json"]


main({})
