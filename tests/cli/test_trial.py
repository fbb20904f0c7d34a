#!/usr/bin/env python3
"""`det trial`: shell scripts as trials, alone and in searches."""
import json
import os
import shutil
import signal
import subprocess

import harness
from harness import PATIENCE, main, test
from running import (RANDOM, SINGLE, TRAINEE, config, has, kills_of_a_search, rows, start, trials,
                     wait_until, what_is_kept, write)

DET = os.path.abspath(harness.DET)
SCRIPT = (DET, "trial", "--", TRAINEE)


def prepare(store):
    store.env.update(PATH=os.path.dirname(DET) + ":" + os.environ["PATH"],
                     MODEL=os.path.join(store.home, "model"))


def shell(store, script, *options, expect=0, **env):
    """Output of a script that is a trial of its own."""
    done = subprocess.run([DET, "trial", *options, "--", "sh", "-c", script], env={**store.env, **env},
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def reports(store, trial="1"):
    return [(row["group"], row["steps_completed"], row["metrics"])
            for row in store.lines("metrics", trial)]


@test
def a_script_is_a_trial_of_a_search(store):
    prepare(store)
    store.run_loudly("run", write(store, config(RANDOM)), "--slots", "2", "--", *SCRIPT)
    assert len(trials(store)) == 6 and {row[2] for row in trials(store)} == {"COMPLETED"}
    for x, metric in rows(store, "SELECT json_extract(hparams, '$.x'), metric FROM trials JOIN operations"
                                 " ON trials.id=trial_id"):
        assert float(metric) == (x - 0.3) ** 2 / 4, (x, metric)
    steps = rows(store, "SELECT group_concat(steps) FROM metrics WHERE metric_group='training' GROUP BY trial_id")
    assert steps == [("1,2,3,4",)] * 6, steps
    assert rows(store, "SELECT DISTINCT exit, run_id FROM runs") == [("ok", 1)]
    assert [line["text"] for line in store.lines("logs", "1")].count("run begins at 0") == 1


@test
def it_saves_when_it_is_paused_and_goes_on(store):
    prepare(store)
    process = start(store, write(store, config(SINGLE)), "--", *SCRIPT, TRAINEE_MS="200")
    wait_until(lambda: has(store, "SELECT 1 FROM metrics"), "a report")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 11
    assert rows(store, "SELECT state, restarts FROM trials") == [("PAUSED", 0)]
    store.run_loudly("run", "--resume", "1")
    assert rows(store, "SELECT state, last_run, restarts FROM trials") == [("COMPLETED", 2, 0)]
    steps = [r[0] for r in rows(store, "SELECT steps FROM metrics WHERE metric_group='training'"
                                       " AND archived=0 ORDER BY steps")]
    assert steps == [1, 2, 3, 4, 5, 6], steps


@test
def the_script_of_the_documentation_works(store):
    prepare(store)
    with open(os.path.join(os.path.dirname(__file__), "../../docs/experiments.md")) as file:
        script = file.read().split("## A shell script as a trial")[1].split("```sh\n")[1].split("```")[0]
    for name, text in (("train.sh", script), ("validate", "#!/bin/sh\ntest -d $1 && echo 0.5"),
                       ("train", "#!/bin/sh\ntest $1 = --lr && touch $3/weights && echo $2")):
        path = os.path.join(store.home, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
    out = shell(store, "cd $DET_HOME && ./train.sh", "--hparams", '{"lr": 0.25}')
    assert reports(store) == [("training", 1, {"loss": 0.25}), ("validation", 1, {"loss": 0.5})], out
    assert store.lines("checkpoints", "1")[0]["steps_completed"] == 1
    assert store.lines("ls")[0]["state"] == "COMPLETED"


@test
def kills_at_random_instants_change_nothing(store):
    prepare(store)
    text = config({**RANDOM, "max_trials": 3, "max_concurrent_trials": 1})
    store.run_loudly("run", write(store, text), "--slots", "1", "--", *SCRIPT)
    expected = what_is_kept(store)
    os.environ.update({name: store.env[name] for name in ("PATH", "MODEL")})
    for seed in range(int(os.environ.get("DET_TEST_LIVES", "1"))):
        kills = kills_of_a_search(text, expected, seed, 0.4, SCRIPT)
        print(f"# {kills} kills", flush=True)
        assert kills > 0


@test
def what_was_reported_survives_a_kill_and_the_script_does_not(store):
    prepare(store)
    process = subprocess.Popen([DET, "trial", "--", "sh", "-c", "det report loss=1 --step 1; echo $$; sleep 60"],
                               env=store.env, stdout=subprocess.PIPE, text=True)
    store.processes.append(process)
    script = int(process.stdout.readline())
    process.kill()
    process.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{script}/exe"), "the end of the script")
    store.run("sync")
    assert reports(store) == [("training", 1, {"loss": 1})]


@test
def it_goes_on_by_a_name_of_its_own(store):
    prepare(store)
    script = ("det checkpoint restore d; mkdir -p d; echo $DET_TRIAL_ID > d/file;"
              " det checkpoint save d --step 7 --metadata '{\"note\": 1}' > /dev/null;"
              " cat d/file; det checkpoint restore e --json")
    for begin in ("0", "7"):
        out = shell(store, f"cd {store.home}; {script}", "--external-id", "mine").splitlines()
        assert out[:2] == [begin, "1"] and json.loads(out[2])["steps_completed"] == 7, out
    assert len(store.lines("ls")) == 1 and len(store.lines("checkpoints", "1")) == 2
    assert store.lines("checkpoints", "1")[0]["metadata"] == {"note": 1, "steps_completed": 7}


@test
def a_signal_can_ask_it_to_stop_and_others_are_passed_on(store):
    prepare(store)
    script = ("trap 'echo heard' USR2; kill -USR2 $PPID; kill -USR1 $PPID;"
              " while det next > /dev/null; do sleep 0.05; done; det next; echo code $?")
    out = shell(store, script, "--preempt-on", "USR1")
    assert "heard" in out and "code 13" in out, out


@test
def a_script_that_was_asked_to_stop_leaves_with_75(store):
    prepare(store)
    script = ("kill -USR1 $PPID; while det next > /dev/null; do sleep 0.05; done; det next > /dev/null;"
              " [ $? = 13 ] && exit 75")
    shell(store, script, "--preempt-on", "USR1", "--external-id", "mine", expect=75)
    shell(store, "exit 75", "--external-id", "other", expect=75)  # nobody asked it to
    assert rows(store, "SELECT exit FROM runs ORDER BY trial_id") == [("preempted",), ("error",)]


@test
def it_ends_as_its_script_does(store):
    prepare(store)
    shell(store, "exit 7", expect=7)
    shell(store, "kill -TERM $$", expect=-signal.SIGTERM)
    shell(store, "kill -TERM $PPID; sleep 60", expect=-signal.SIGTERM)
    assert [row["state"] for row in store.lines("ls")] == ["ERROR"] * 3
    shell(store, "true")
    assert store.lines("ls")[0]["state"] == "COMPLETED"
    assert "./nothing" in store.run("trial", "--", "./nothing", expect=127)
    store.run("trial", "--", "/etc/passwd", expect=126)
    assert len(store.lines("ls")) == 4  # none was made for what is no program


@test
def numbers_are_reported_as_they_are(store):
    prepare(store)
    shell(store, "det report a=nan b=-inf c=d=-1e-3 e=0.1 --step 3 -g odd && det report x=2 --step 3 -g odd")
    assert reports(store)[0] == ("odd", 3, {"a": "NaN", "b": "-Infinity", "c=d": -0.001, "e": 0.1})


@test
def hyperparameters_are_variables(store):
    prepare(store)
    out = shell(store, 'echo "$DET_HPARAM_x $DET_HPARAM_a_b $DET_HPARAM_name $DET_HPARAMS"',
                "--hparams", '{"x": 0.5, "a": {"b": 2}, "name": "two words"}')
    assert out.startswith("0.5 2 two words {"), out


@test
def a_configuration_says_how_far(store):
    prepare(store)
    path = write(store, "searcher: {name: single, metric: loss, max_length: {batches: 40}}")
    out = shell(store, "det next; det next --completed -0.5; det next; echo $?", "--config", path)
    assert out.split() == ["40", "12"], out
    out = shell(store, "true", "--config", write(store, "a: [1"), expect=2)
    assert "experiment.yaml" in out and "line" in out, out


@test
def wrong_requests_are_refused_and_change_nothing(store):
    prepare(store)
    wrong = {"det report loss": 2, "det report loss=x --step 1": 2, "det report loss=1": 2,
             "det report loss=1 --step -1": 2, "det report loss=1 loss=2 --step 1": 2,
             "det report =1 --step 1": 2, "det report loss=1 --step 1 -g a.b": 2,
             "det next --completed x": 2, "det next --completed 1": 5, "det next --progress 1": 5,
             "det checkpoint save nowhere --step 1": 3, "det checkpoint save . --step x": 2,
             "det checkpoint save . --step 1 --metadata 7": 2, "det checkpoint restore . nothing": 3}
    out = shell(store, "; ".join(f"{command}; echo code $?" for command in wrong))
    codes = [int(line.split()[1]) for line in out.splitlines() if line.startswith("code ")]
    assert codes == list(wrong.values()), (codes, out)
    assert reports(store) == [] and store.lines("checkpoints") == []


@test
def of_a_trial_with_several_slots_there_is_one_script(store):
    prepare(store)
    if not shutil.which("mpirun"):
        return print("# skipped: no mpirun")
    text = config(SINGLE, resources={"slots_per_trial": 2})
    store.run_loudly("run", write(store, text), "--slots", "2", "--", *SCRIPT)
    assert rows(store, "SELECT state, last_run FROM trials") == [("COMPLETED", 1)]
    assert [line["text"] for line in store.lines("logs", "1")].count("run begins at 0") == 1


@test
def outside_of_a_trial_and_after_it_they_say_so(store):
    prepare(store)
    for command in (["next"], ["report", "a=1", "--step", "1"], ["checkpoint", "restore", "."]):
        assert "det trial --" in store.run(*command, expect=5)
        assert "has ended" in store.run(*command, expect=8, env={"DET_TRIAL_SOCKET": "det-trial-none"})


@test
def strangers_at_the_socket_do_no_harm(store):
    prepare(store)
    program = """
import os, socket
for bytes in (b"", b"x", b"\\xa0", b"\\xff" * (3 << 20)):
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0" + os.environ["DET_TRIAL_SOCKET"])
    try: s.sendall(bytes)
    except OSError: pass
silent = [socket.socket(socket.AF_UNIX) for _ in range(50)]
for s in silent: s.connect("\\0" + os.environ["DET_TRIAL_SOCKET"])
os.system("det report loss=1 --step 1")
"""
    path = os.path.join(store.home, "strangers.py")
    with open(path, "w") as file:
        file.write(program)
    shell(store, f"python3 {path}")
    assert reports(store) == [("training", 1, {"loss": 1})]


main({})
