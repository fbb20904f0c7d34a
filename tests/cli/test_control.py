#!/usr/bin/env python3
"""What `det` does to training, and what it says when a store cannot be used."""
import contextlib
import json
import os
import sqlite3
import subprocess

from harness import MAKE_STORE, PATIENCE, main, test


@test
def pause_is_seen_and_the_trial_leaves_in_order(store):
    process, trial = store.start("wait")
    answer = json.loads(store.run("pause", trial, "--json"))
    assert answer["signalled"] == 1, answer
    assert process.communicate()[0] == "preempted\n" and process.returncode == 0
    assert store.lines("ls")[0]["state"] == "PAUSED"
    shown = store.run("show", trial)
    assert f"DET_TRIAL_ID={trial}" in shown and "Operations" in shown, shown
    assert store.lines("checkpoints", trial)[0]["steps_completed"] == 1


@test
def a_trial_without_a_search_has_no_operations_to_show(store):
    store.run("trial", "--", "true")
    shown = store.run("show", "1")
    assert "Runs" in shown and "Operations" not in shown, shown


@test
def activate_lets_a_paused_trial_go_on(store):
    process, trial = store.start("wait")
    text = store.run("pause", trial)
    assert f"Trial {trial}" in text and f"DET_TRIAL_ID={trial}" in text, text
    process.communicate()
    assert "ACTIVE" in store.run("activate", trial)
    store.env["DET_TRIAL_ID"] = trial
    process, same = store.start("wait")
    assert same == trial
    store.run("cancel", trial)
    process.communicate()
    assert process.returncode == 0
    assert store.lines("ls")[0]["state"] == "CANCELED"
    store.run("activate", trial, expect=5)


@test
def a_start_beside_a_run_elsewhere_does_not_advise_to_kill_it_here(store):
    process, trial = store.start("wait")
    def start_again():
        return subprocess.run([MAKE_STORE, "wait"], env={**store.env, "DET_TRIAL_ID": trial},
                              capture_output=True, text=True).stderr
    assert f"wait for it, or `det kill {trial}`\n" in start_again()
    # As from another container on this host, which has process numbers of its own.
    with contextlib.closing(sqlite3.connect(store.database())) as database, database:
        database.execute("UPDATE runs SET process=json_set(process, '$.pid_namespace', 1)")
    said = start_again()
    assert f"another container; wait for it, or run `det kill {trial}` there" in said, said
    store.run("pause", trial)
    process.communicate()


@test
def kill_ends_a_trial_at_once(store):
    process, trial = store.start("wait")
    store.run("kill", trial)
    assert "preempted" not in process.communicate(timeout=PATIENCE)[0] and process.returncode != 0
    assert store.lines("ls")[0]["state"] == "CANCELED"


@test
def an_experiment_is_steered_with_its_trials(store):
    store.make("complete")
    with sqlite3.connect(store.database()) as database:  # so that the ids differ
        database.execute("UPDATE sqlite_sequence SET seq=10 WHERE name='experiments'")
    process, trial = store.start("wait")
    assert trial == "2" and json.loads(store.run("show", "-e", "11", "--json"))["id"] == 11
    assert "Experiment 11 is PAUSED" in store.run("pause", "-e", "11")
    assert process.communicate()[0] == "preempted\n"
    assert store.lines("ls", "-e")[0]["state"] == "PAUSED"


@test
def logs_are_followed_until_the_trial_ends(store):
    process, trial = store.start("wait")
    store.run("cancel", trial)
    store.run("logs", trial, "-f")  # returns only since the trial ends
    process.communicate()


@test
def a_completed_trial_cannot_be_steered(store):
    store.make("complete")
    for command in ("pause", "activate"):
        store.run(command, "1", expect=5)


@test
def sync_delivers_what_a_killed_process_reported(store):
    store.make("die")
    answer = json.loads(store.run("sync", "--json"))
    assert answer["busy"] == 0, answer
    assert [report["metrics"] for report in store.lines("metrics", "1")] == [{"loss": 1}]
    assert store.run("sync") == "No reports are waiting.\n"


@test
def an_empty_store_says_how_to_start(store):
    store.make("complete")
    with sqlite3.connect(store.database()) as database:
        for table in ("runs", "operations", "metrics", "checkpoints", "logs", "trials",
                      "experiments"):
            database.execute(f"DELETE FROM {table}")
    for command in (["ls"], ["ls", "-e"]):
        assert "det_core_init" in store.run(*command)
    assert store.run("ls", "--json") == ""


@test
def a_missing_store_is_not_found_and_not_made(store):
    home = os.path.join(store.home, "nowhere")
    for place in ({"DET_HOME": home}, {"DET_MASTER": home}, {"DET_MASTER": "file://" + home}):
        assert home in store.run("ls", expect=3, env=place)
    assert home in store.run("-m", home, "ls", expect=3)
    assert home in store.run("ls", "-m", home, expect=3)
    assert not os.path.exists(home)


@test
def a_locked_store_is_busy(store):
    store.make("complete")
    database = sqlite3.connect(store.database(), isolation_level=None)
    database.execute("PRAGMA locking_mode=EXCLUSIVE")
    database.execute("BEGIN EXCLUSIVE")
    assert "try again" in store.run("cancel", "1", expect=4)
    database.close()
    store.run("ls")


@test
def a_damaged_store_is_an_error_of_its_own(store):
    store.make("complete")
    database = store.database()
    with open(database, "r+b") as file:
        file.write(b"no database")
    for name in ("-wal", "-shm"):
        if os.path.exists(database + name):
            os.remove(database + name)
    store.run("ls", expect=6)


@test
def a_store_of_a_newer_release_is_refused(store):
    store.make("complete")
    with sqlite3.connect(store.database()) as database:
        database.execute("PRAGMA user_version=9999")
    assert "newer" in store.run("ls", expect=7)


@test
def wrong_arguments_are_usage_errors(store):
    for arguments in (["frobnicate"], ["ls", "--frob"], ["metrics"], ["plot"], ["completion", "csh"],
                      ["metrics", "1", "--csv", "--json"], ["ls", "1", "2"], ["ls", "-e", "1"],
                      ["show", "-e", "not-an-id"], ["-m"]):
        store.run(*arguments, expect=2)


main({})
