#!/usr/bin/env python3
"""`det run` with real trials: what comes out, what is kept, and what a kill leaves."""
import json
import os
import shutil
import signal
import subprocess

from harness import DET, PATIENCE, main, test
from running import (ASHA, RANDOM, SINGLE, TRAINEE, config, has, hold, kills_of_a_search, rows, run,
                     start, trials, wait_until, what_is_kept, write)


@test
def a_search_ends_with_its_best_trial(store):
    out = run(store, config(RANDOM))
    best = rows(store, "SELECT trial_id FROM operations ORDER BY CAST(metric AS REAL) LIMIT 1")[0][0]
    assert f"trial {best}" in out.lower(), out
    assert len(trials(store)) == 6 and all(row[2] == "COMPLETED" for row in trials(store))
    assert rows(store, "SELECT state, progress FROM experiments") == [("COMPLETED", 1)]
    checkpoint = rows(store, f"SELECT uuid FROM checkpoints WHERE trial_id={best}")[-1][0]
    assert checkpoint in out, out


@test
def a_long_list_is_told_in_short(store):
    names = [f"name{number}" for number in range(20000)]
    space = {"x": {"type": "double", "minval": 0, "maxval": 1}, "names": names,
             "sets": {"type": "categorical", "vals": [names, names[1:]]}}
    out = run(store, config({**RANDOM, "max_trials": 2}, hyperparameters=space))
    assert "name0" in out and " more]" in out and len(out) < 10000, len(out)
    for command in (["show", "1"], ["show", "-e", "1"], ["trials", "1"], ["best", "1"]):
        out = store.run(*command)
        assert len(out) < 10000, (command, len(out))
    assert len(store.lines("show", "1")[0]["hparams"]["names"]) == 20000


@test
def promising_trials_go_on_and_the_others_stop(store):
    run(store, config(ASHA))
    lengths = [row[3] for row in trials(store)]
    assert len(lengths) == 12 and any("16" in length for length in lengths)
    assert any("16" not in length for length in lengths), lengths
    assert rows(store, "SELECT COUNT(*) FROM operations WHERE completed IS NULL") == [(0,)]


@test
def a_trial_that_crashes_goes_on_from_its_checkpoint(store):
    out = run(store, config(SINGLE), "crash_once")
    assert "trial 1 crashed, restarts" in out and "waits" not in out, out
    assert rows(store, "SELECT restarts, last_run, state FROM trials") == [(1, 2, "COMPLETED")]
    assert rows(store, "SELECT exit FROM runs ORDER BY run_id") == [("error",), ("ok",)]


@test
def one_that_a_signal_ends_is_started_again(store):
    run(store, config(SINGLE), "segfault")
    assert rows(store, "SELECT restarts, state FROM trials") == [(1, "COMPLETED")]


@test
def a_trial_that_always_crashes_ends_the_experiment_in_an_error(store):
    out = run(store, config(SINGLE), "crash", expect=9)
    assert rows(store, "SELECT restarts, last_run, state FROM trials") == [(3, 3, "ERROR")]
    assert "exit code 1" in out and "det logs 1" in out, out


@test
def a_full_disk_pauses_the_search_and_costs_no_restart(store):
    disk = os.path.join(store.home, "disk")
    os.mkdir(disk)
    file = write(store, config(RANDOM, checkpoint_storage={"type": "directory", "container_path": disk}))
    script = (f"mount -t tmpfs -o size=128k none '{disk}' || exit 77; head -c 1M /dev/zero >'{disk}/filler';"
              f" exec '{DET}' run '{file}' --slots 2 -- '{TRAINEE}'")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], env=store.env, capture_output=True,
                          text=True, timeout=PATIENCE)
    if done.returncode == 77 or "unshare" in done.stderr:
        return  # this machine lets nobody mount
    out = done.stdout + done.stderr
    assert done.returncode == 11 and "no space left" in out and "det run --resume 1" in out, done
    assert rows(store, "SELECT SUM(restarts) FROM trials") == [(0,)]
    store.run_loudly("run", "--resume", "1")
    assert rows(store, "SELECT state FROM experiments") == [("COMPLETED",)]
    assert rows(store, "SELECT SUM(restarts) FROM trials") == [(0,)]


@test
def a_copied_store_deletes_nothing_of_the_other(store):
    run(store, config(SINGLE))
    copy = store.home + "-copy"
    subprocess.run(["cp", "-a", store.home, copy], check=True)

    def checkpoints(home):
        return {name for name in os.listdir(home) if os.path.exists(os.path.join(home, name, "metadata.json"))}

    try:
        before = checkpoints(store.home)
        assert before and checkpoints(copy) == before
        done = subprocess.run([DET, "rm", "-y", "1"], env={**store.env, "DET_HOME": copy, "DET_MASTER": copy},
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done
        assert checkpoints(store.home) == before and not checkpoints(copy)
    finally:
        shutil.rmtree(copy)


@test
def a_command_that_went_away_loses_nothing(store):
    command = os.path.join(store.home, "train")
    shutil.copy(TRAINEE, command)
    process = start(store, write(store, config(SINGLE)), "--", command, TRAINEE_HOLD=hold(store))
    wait_until(lambda: has(store, "SELECT 1 FROM metrics"), "a report")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    before = rows(store, "SELECT state, last_run, restarts FROM trials")
    os.rename(command, command + ".old")
    out = store.run_loudly("run", "--resume", "1", expect=3)
    assert command in out, out
    assert rows(store, "SELECT state, last_run, restarts FROM trials") == before
    assert rows(store, "SELECT state FROM experiments") == [("PAUSED",)]
    os.rename(command + ".old", command)
    store.run_loudly("run", "--resume", "1")
    assert rows(store, "SELECT state, restarts FROM trials") == [("COMPLETED", 0)]


@test
def one_that_only_its_shell_can_look_for_pauses_the_experiment(store):
    out = store.run_loudly("run", write(store, config(RANDOM, entrypoint="./no-such-command")), expect=11)
    assert "exit code 127" in out and "cannot be started" in out and "--resume 1" in out, out
    assert rows(store, "SELECT state FROM experiments") == [("PAUSED",)]
    assert rows(store, "SELECT MAX(last_run), MAX(restarts) FROM trials") == [(1, 0)]
    assert "exit code 127" in store.run("logs", "1")


@test
def trials_have_the_variables_of_the_configuration(store):
    environment = {"environment_variables": ["GREETING=a=b c", "DET_TRIAL_ID=7"]}
    entrypoint = "echo said $GREETING, $DET_TRIAL_ID"
    store.run_loudly("run", write(store, config(SINGLE, environment=environment, entrypoint=entrypoint)))
    assert "said a=b c, 1" in store.run("logs", "1")


@test
def it_goes_on_when_nobody_can_read_what_it_says(store):
    command = f"'{DET}' run '{write(store, config(RANDOM))}' --slots 2 -- '{TRAINEE}'"
    for sink, status in (("| head -c 1; exit ${PIPESTATUS[0]}", 0), ("> /dev/full", 0)):
        done = subprocess.run(["bash", "-c", f"{command} {sink}"], env={**store.env, "TRAINEE_MS": "20"},
                              capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status, done
    assert "continues without a display" in done.stderr, done
    assert rows(store, "SELECT state FROM experiments") == [("COMPLETED",)] * 2


@test
def a_metric_that_nobody_reports_is_told(store):
    out = run(store, config({**SINGLE, "metric": "lost"}))
    assert "no trial reported" in out and "'lost'" in out, out


@test
def a_paused_trial_that_holds_up_the_end_is_named(store):
    process = start(store, write(store, config({**RANDOM, "max_trials": 2})), "--slots", "2", "--", TRAINEE,
                    TRAINEE_HOLD=hold(store))
    wait_until(lambda: has(store, "SELECT 1 FROM metrics WHERE trial_id=2"), "a report")
    store.run("pause", "2")
    wait_until(lambda: has(store, "SELECT 1 FROM runs WHERE trial_id=2 AND exit='preempted'"), "the pause")
    os.remove(hold(store))
    lines = iter(process.stdout.readline, "")
    assert any("det activate 2" in line for line in lines)
    store.run("activate", "2")
    assert process.wait(timeout=PATIENCE) == 0


@test
def leaving_in_the_middle_of_the_work_is_the_end_of_a_trial(store):
    run(store, config(RANDOM), "leave")
    assert {row[2] for row in trials(store)} == {"COMPLETED"} and len(trials(store)) == 6
    run(store, config(RANDOM), "silent")
    assert len(trials(store)) == 12


@test
def refused_hyperparameters_are_replaced(store):
    run(store, config(RANDOM), "refuse")
    refused = rows(store, "SELECT COUNT(*) FROM trials WHERE json_extract(hparams, '$.x') > 0.5")[0][0]
    assert refused > 0 and len(trials(store)) == 6 + refused
    assert rows(store, "SELECT MAX(last_run) FROM trials") == [(1,)]


@test
def a_loss_that_is_no_number_is_the_worst(store):
    run(store, config(ASHA), "nan")
    assert rows(store, "SELECT state FROM experiments") == [("COMPLETED",)]
    assert rows(store, "SELECT COUNT(*) FROM operations JOIN trials ON trials.id=trial_id"
                       " WHERE length=16 AND json_extract(hparams, '$.x') > 0.5")[0][0] <= 2


@test
def what_a_trial_prints_is_in_its_log(store):
    run(store, config(SINGLE), "print")
    lines = [line["text"] for line in store.lines("logs", "1")]
    assert lines[:2] == ["line 0", "line 1"] and "line 999" in lines, lines[:3]
    assert "run 1 begins at 0" in lines


@test
def all_problems_of_a_configuration_are_told_at_once(store):
    bad = config({"name": "random", "max_trials": 0, "max_lenght": 3}, max_restarts=-1)
    out = store.run_loudly("run", write(store, bad), "--", TRAINEE, expect=2)
    for part in ("max_trials", "max_lenght", "max_length", "max_restarts"):
        assert part in out, out


@test
def wrong_arguments_are_refused(store):
    store.run("run", expect=2)
    store.run("run", "--resume", "1", expect=3)
    store.run("run", os.path.join(store.home, "nothing.yaml"), "--", "true", expect=3)
    assert "entrypoint" in store.run_loudly("run", write(store, config(SINGLE)), expect=2)
    store.run("-m", "http://localhost:1", "run", write(store, config(SINGLE)), expect=7)


@test
def one_without_memory_is_an_error_like_others(store):
    out = run(store, config(SINGLE, max_restarts=1), "memory", expect=9)
    assert rows(store, "SELECT restarts, state FROM trials") == [(2, "ERROR")]
    assert "signal 9" in out and "out of memory" in store.run("logs", "1"), out


@test
def a_trial_cannot_take_itself_for_another(store):
    out = run(store, config(RANDOM, max_restarts=0), "impostor", slots="1")
    assert [row[0] for row in rows(store, "SELECT state FROM trials ORDER BY id")] == [
        "COMPLETED"] + ["ERROR"] * 5
    assert rows(store, "SELECT DISTINCT trial_id FROM metrics") == [(1,)]
    assert rows(store, "SELECT COUNT(*) FROM runs") == [(6,)], out
    assert "this process was started for trial 2" in store.run("logs", "2")


@test
def a_line_of_the_log_can_end_the_restarts(store):
    policy = {"pattern": "begins at [0-9]", "action": {"type": "cancel_retries"}}
    out = run(store, config(SINGLE, log_policies=[policy]), "crash", expect=9)
    assert rows(store, "SELECT last_run, state FROM trials") == [(1, "ERROR")]
    assert out.count("not started again") == 1 and "begins at [0-9]" in out, out
    run(store, config(SINGLE, log_policies=[policy]))
    assert rows(store, "SELECT last_run, state FROM trials WHERE id=2") == [(1, "COMPLETED")]


@test
def why_a_search_died_is_told_afterwards(store):
    text = config({"name": "async_halving", "num_rungs": 2, "max_trials": 3, "divisor": 2,
                   "time_metric": "batches", "max_time": 8})
    out = store.run_loudly("run", write(store, text), "--rules", "0.38", "--slots", "1", "--", TRAINEE,
                           expect=9)
    why = "trial 1 has null for the time metric 'batches'; report a number"
    request = rows(store, "SELECT request_id FROM trials")[0][0]
    for told in (out, store.run("show", "-e", "1"), store.run("show", "1")):
        assert why in told and request not in told, told
    assert why in json.loads(store.run("show", "-e", "1", "--json"))["error"]
    run(store, config(SINGLE))
    assert json.loads(store.run("show", "-e", "2", "--json"))["error"] is None


@test
def what_cannot_be_run_makes_no_experiment(store):
    wide = config(SINGLE, resources={"slots_per_trial": 3})
    out = store.run_loudly("run", write(store, wide), "--slots", "2", "--", TRAINEE, expect=2)
    assert "slots_per_trial" in out, out
    narrow = config(SINGLE, resources={"slots_per_trial": 2, "max_slots": 1})
    out = store.run_loudly("run", write(store, narrow), "--slots", "2", "--", TRAINEE, expect=2)
    assert "resources.max_slots" in out and "--slots" not in out, out
    policy = {"pattern": "(", "action": {"type": "cancel_retries"}}
    out = store.run_loudly("run", write(store, config(SINGLE, log_policies=[policy])), "--", TRAINEE,
                           expect=2)
    assert "log_policies" in out and "missing )" in out, out
    out = store.run_loudly("run", write(store, config(SINGLE)), "--", "no-such-command", expect=3)
    assert "no-such-command" in out, out
    cloud = {"type": "s3", "bucket": "b/c"}
    out = store.run_loudly("run", write(store, config(SINGLE, checkpoint_storage=cloud)), "--", TRAINEE,
                           expect=2)
    assert "'bucket' must be" in out, out
    assert rows(store, "SELECT COUNT(*) FROM experiments") == [(0,)]


@test
def an_interrupt_pauses_and_resuming_goes_on(store):
    process = start(store, write(store, config(SINGLE)), "--", TRAINEE, TRAINEE_HOLD=hold(store))
    wait_until(lambda: has(store, "SELECT 1 FROM metrics"), "a report")
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 11 and "det run --resume 1" in out, out
    assert rows(store, "SELECT state, restarts FROM trials") == [("PAUSED", 0)]
    store.run_loudly("run", "--resume", "1")
    assert rows(store, "SELECT state, last_run FROM trials") == [("COMPLETED", 2)]
    steps = [r[0] for r in rows(store, "SELECT steps FROM metrics WHERE metric_group='training'"
                                       " AND archived=0 ORDER BY steps")]
    assert steps == [1, 2, 3, 4, 5, 6], steps
    store.run("run", "--resume", "1", expect=5)


@test
def one_whose_storage_went_away_is_not_resumed(store):
    storage = os.path.join(store.home, "checkpoints")
    os.mkdir(storage)
    text = config(SINGLE, checkpoint_storage={"type": "directory", "container_path": storage})
    process = start(store, write(store, text), "--", TRAINEE, TRAINEE_HOLD=hold(store))
    wait_until(lambda: has(store, "SELECT 1 FROM metrics"), "a report")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    before = rows(store, "SELECT state, last_run, restarts FROM trials")
    os.rename(storage, storage + ".away")
    open(storage, "w").close()
    out = store.run_loudly("run", "--resume", "1", expect=2)
    assert f"'{storage}' is no directory" in out, out
    assert rows(store, "SELECT state, last_run, restarts FROM trials") == before
    assert rows(store, "SELECT state FROM experiments") == [("PAUSED",)]


@test
def another_det_pauses_and_kills_what_runs(store):
    process = start(store, write(store, config(SINGLE)), "--", TRAINEE, TRAINEE_HOLD=hold(store))
    wait_until(lambda: has(store, "SELECT 1 FROM metrics"), "a report")
    store.run("run", "--resume", "1", expect=4)
    store.run("pause", "-e", "1")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 11
    again = start(store, "--resume", "1", TRAINEE_HOLD=hold(store))
    wait_until(lambda: rows(store, "SELECT 1 FROM runs WHERE run_id=2 AND journal_id<>''"), "run 2")
    store.run("kill", "-e", "1")
    again.communicate(timeout=PATIENCE)
    assert again.returncode == 10 and rows(store, "SELECT state FROM trials") == [("CANCELED",)]


@test
def kills_at_random_instants_change_nothing(store):
    text = config({**ASHA, "max_concurrent_trials": 1})
    run(store, text, slots="1")
    expected = what_is_kept(store)
    for seed in range(int(os.environ.get("DET_TEST_LIVES", "2"))):
        print(f"# {kills_of_a_search(text, expected, seed)} kills", flush=True)


@test
def a_terminal_shows_trials_and_progress(store):
    out = store.on_terminal("run", write(store, config(RANDOM)), "--slots", "2", "--", TRAINEE,
                            COLUMNS="100", TRAINEE_MS="50")
    assert "\x1b[" in out and "100" in out, out
    plain = store.on_terminal("run", write(store, config(SINGLE)), "--", TRAINEE, TERM="dumb")
    assert "\x1b" not in plain and "trial 7 started" in plain, plain
    x = rows(store, "SELECT json_extract(hparams, '$.x') FROM trials WHERE id=1")[0][0]
    assert " of 6 done; " in out and f"x={x:.6g}" in out, out


main({})
