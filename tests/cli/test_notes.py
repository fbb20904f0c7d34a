#!/usr/bin/env python3
"""What `det` notes about experiments, archives and deletes."""
import contextlib
import json
import os
import pty
import subprocess

from harness import DET, main, test


def archived(store):
    return [entry["id"] for entry in store.lines("ls", "-e", "--archived")]


@test
def an_experiment_gets_a_name_and_tags(store):
    store.make("complete")
    assert store.run("rename", "1", "no \x1bmore") == "Experiment 1 is called 'no \\x1bmore'.\n"
    assert store.lines("experiments")[0]["name"] == "no \x1bmore"
    assert "has the tags paper, base line" in store.run("tag", "1", "paper", "base line", "paper")
    assert [entry["id"] for entry in store.lines("ls", "--tag", "base line")] == [1]
    assert json.loads(store.run("untag", "1", "base line", "none", "--json"))["tags"] == ["paper"]
    assert "has no tags" in store.run("untag", "1", "paper")
    for wrong in (["rename", "1"], ["rename", "1", ""], ["tag", "1"], ["tag", "x", "a"],
                  ["rename", "1", "a", "b"]):
        store.run(*wrong, expect=2)


@test
def a_note_is_kept_and_shown(store):
    store.make("complete")
    assert "no note" in store.run("note", "1")
    store.run("note", "1", "lr too high")
    assert store.run("note", "1") == "lr too high\n" and "lr too high" in store.run("show", "-e", "1")
    store.run("note", "1", "-", input="two\nlines \x1b[31m\n")
    assert store.run("note", "1") == "two\nlines \x1b[31m\n"
    assert "\x1b[31m" not in store.on_terminal("note", "1")
    store.run("note", "1", "")
    assert "no note" in store.run("note", "1")


@test
def what_is_archived_is_left_out_of_lists(store):
    store.make("complete")
    store.make("many")
    assert store.run("archive", "1", "2").splitlines() == ["Experiment 1 is archived.",
                                                           "Experiment 2 is archived."]
    assert archived(store) == [2, 1] and store.lines("ls") == []
    store.run("unarchive", "2")
    assert archived(store) == [1] and [entry["id"] for entry in store.lines("ls")] == [2]


@test
def rm_deletes_records_and_files(store):
    store.make("complete")
    store.make("many")
    directory = json.loads(store.run("best", "1", "--json"))["checkpoint"]["directory"]
    assert "give -y" in store.run("rm", "1", expect=2)
    assert os.path.exists(directory)
    assert "Experiment 1 is deleted, with 1 checkpoint, 34 B." in store.run("rm", "-y", "1")
    assert not os.path.exists(directory)
    assert [entry["id"] for entry in store.lines("ls", "-e")] == [2]
    store.run("show", "1", expect=3)
    assert json.loads(store.run("rm", "2", "-y", "--json"))["state"] == "DELETED"


def answer(store, text):
    """What a terminal shows where the question of `det rm 1` is answered so."""
    parent, child = pty.openpty()
    process = subprocess.Popen([DET, "rm", "1"], env=store.env, stdin=child, stdout=child, stderr=child)
    os.close(child)
    os.write(parent, text)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal ends
        while block := os.read(parent, 65536):
            shown += block
    os.close(parent)
    return process.wait(), shown.decode()


@test
def rm_asks_on_a_terminal(store):
    store.make("complete")
    for text in (b"\n", b"n\n", b"maybe\n"):
        code, shown = answer(store, text)
        assert code == 0 and r"'dig\x1bits', with 1 trial" in shown and "is kept" in shown, shown
    assert len(store.lines("ls", "-e")) == 1
    code, shown = answer(store, b"y\n")
    assert code == 0 and "is deleted" in shown, shown
    assert store.lines("ls", "-e") == []


@test
def what_is_not_over_is_neither_archived_nor_deleted(store):
    process, trial = store.start("wait")
    for command in (["archive", "1"], ["rm", "-y", "1"]):
        store.run(*command, expect=5)
    store.run("kill", trial)
    process.communicate()
    store.run("rm", "-y", "1")


@test
def unknown_experiments_cannot_be_noted(store):
    store.make("complete")
    for command in (["rename", "77", "x"], ["tag", "77", "x"], ["untag", "77", "x"], ["note", "77"],
                    ["archive", "77"], ["unarchive", "77"], ["rm", "-y", "77"]):
        assert "77" in store.run(*command, expect=3)
        command[-2 if len(command) > 2 and command[1] != "-y" else -1] = "run-7"
        assert "is not an ID" in store.run(*command, expect=2)


main({})
