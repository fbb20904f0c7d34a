#!/usr/bin/env python3
"""What names a trial or a checkpoint: ids, external ids, the beginning of an id."""
import contextlib
import json
import sqlite3
import uuid

from harness import Store, ageless, main, test

# Alike for longer than lists show, and one that is not.
UUIDS = ["abcdef01-23aa-4000-8000-000000000001", "abcdef01-23ab-4000-8000-000000000002",
         "12345678-0000-4000-8000-000000000003"]


class Named(Store):
    """Trial 1 is called run-7, and trial 2 is called 77."""

    def __init__(self):
        super().__init__("complete", "many")
        with contextlib.closing(sqlite3.connect(self.database())) as database, database:
            database.execute("UPDATE trials SET external_id='run-7' WHERE id=1")
            database.execute("UPDATE trials SET external_id='77' WHERE id=2")
            names = ", ".join(name for (name,) in database.execute(
                "SELECT name FROM pragma_table_info('checkpoints') WHERE name NOT IN ('uuid', 'id')"))
            for each in UUIDS:
                database.execute(f"INSERT INTO checkpoints (uuid, {names})"
                                 f" SELECT '{each}', {names} FROM checkpoints LIMIT 1")


@test
def an_external_id_is_as_good_as_an_id(named):
    for command in (["show"], ["metrics"], ["plot"], ["logs"], ["checkpoints"], ["compare"], ["export"],
                    ["show", "--json"], ["metrics", "--csv"]):
        assert ageless(named.run(*command, "run-7")) == ageless(named.run(*command, "1")), command
    second = ageless(named.run("show", "2"))
    assert ageless(named.run("show", "77")) == second == ageless(named.run("show", "external:77"))
    assert named.run("metrics", "external:77") == named.run("metrics", "2")
    assert "trial 2 training.loss" in named.run("plot", "run-7", "external:77", "loss")
    assert named.run("compare", "run-7", "2") == named.run("compare", "1", "external:77")


@test
def trials_are_steered_by_their_external_id(store):
    store.make("complete")
    with contextlib.closing(sqlite3.connect(store.database())) as database, database:
        database.execute("UPDATE trials SET external_id='7th', state='PAUSED', ended=NULL")
        database.execute("UPDATE experiments SET state='PAUSED', ended=NULL")
    assert "Trial 1 is ACTIVE" in store.run("activate", "7th")
    assert "is not an ID" in store.run("activate", "-e", "7th", expect=2)
    assert "Trial 1 is CANCELED" in store.run("kill", "7th")


@test
def a_checkpoint_is_known_by_the_beginning_of_its_id(named):
    assert UUIDS[0] in named.run("show", "abcdef01-23aa") and UUIDS[2] in named.run("show", "1234")
    assert UUIDS[2] in named.run("show", "12345678")
    message = named.run("show", "abcdef01", expect=5)
    assert UUIDS[0] in message and UUIDS[1] in message, message
    assert "no checkpoint 'feedfeed'" in named.run("show", "feedfeed", expect=3)
    named.run("show", str(uuid.uuid4()), expect=3)
    assert "trial 1" in named.run("metrics", "12345678-", expect=3)


@test
def lists_show_as_much_of_an_id_as_tells_it_apart(named):
    shown = [line.split()[0] for line in named.run("checkpoints").splitlines()[1:]]
    assert {"abcdef01-23aa", "abcdef01-23ab", "12345678-0000"} <= set(shown), shown
    assert {len(each) for each in shown} == {13}
    assert [line.split()[0] for line in named.run("checkpoints", "-n", "1").splitlines()[1:]] == [
        UUIDS[2][:8]]
    for each in shown:
        named.run("show", each)
    assert {entry["uuid"] for entry in named.lines("checkpoints")} >= set(UUIDS)
    assert all(each in named.run("checkpoints", "--csv") for each in UUIDS)


@test
def lists_are_filtered(named):
    def ids(*arguments):
        return [entry["id"] for entry in named.lines(*arguments)]
    assert ids("ls", "--state", "completed") == [2, 1] and ids("ls", "--state", "error") == []
    assert ids("ls", "--name", "long*") == ids("experiments", "--name", "long*") == [2]
    assert ids("ls", "--archived") == ids("ls", "-e", "--tag", "paper") == []
    assert "long job" in named.run("ls", "-e", "--name", "long*", "-s", "id")
    named.run("ls", "--state", "nosuch", expect=2)


@test
def completion_has_ids_before_uuids(named):
    offered = [line.split("\t")[0] for line in named.run("__complete", "--", "show", "").splitlines()]
    assert offered[:2] == ["2", "1"] and set(UUIDS) <= set(offered[2:])
    assert "nosort" in named.run("completion", "bash")


@test
def completion_knows_external_ids(named):
    def complete(*words):
        return [line.split("\t")[0] for line in named.run("__complete", "--", *words).splitlines()]
    assert complete("logs", "r") == ["run-7"] and complete("logs", "") == ["2", "1"]
    assert complete("plot", "run-7", "a") == ["accuracy"]
    assert complete("ls", "--state", "c") == ["completed", "canceled"]


main({"named": Named()})
