#!/usr/bin/env python3
"""`det checkpoints` on the files: get, put, verify, rm, cp and du."""
import json
import os
import subprocess

from harness import DET, PATIENCE, Store, main, test


def only_checkpoint(store):
    return store.lines("checkpoints")[0]


@test
def a_checkpoint_of_the_store_is_fetched_by_the_beginning_of_its_id(store):
    store.make("complete")
    uuid = only_checkpoint(store)["uuid"]
    target = os.path.join(store.home, "model")
    assert store.run("checkpoints", "get", uuid[:8], target) == target + "\n"
    assert sorted(os.listdir(target)) == sorted(only_checkpoint(store)["resources"])
    assert store.run("checkpoints", "verify", uuid[:8]).startswith(uuid + " is intact, ")
    shown = store.on_terminal("checkpoints", "get", uuid, target)
    assert "fetching  100 %" in shown and shown.endswith(target + "\r\n"), shown


@test
def a_damaged_file_is_named(store):
    store.make("complete")
    checkpoint = json.loads(store.run("show", only_checkpoint(store)["uuid"], "--json"))
    name = next(name for name, size in checkpoint["resources"].items()
                if size > 0 and name != "metadata.json")
    root = checkpoint["storage"].get("host_path") or checkpoint["storage"]["container_path"]
    path = os.path.join(root, checkpoint["uuid"], name)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.write(b"\xff" * size)
    assert name in store.run("checkpoints", "verify", checkpoint["uuid"], expect=6)


@test
def a_library_in_the_current_folder_is_not_taken_for_that_of_buckets(store):
    folder = os.path.join(store.home, "detcore")
    os.makedirs(folder)
    with open(os.path.join(folder, "libdetcore-cloud.so.0"), "w") as file:
        file.write("not ours")
    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    # As a shell starts what it finds in PATH.
    done = subprocess.run(["det", "checkpoints", "verify", "x" * 8, "--storage", "s3://bucket/"],
                          executable=os.path.abspath(DET), cwd=store.home, env={**store.env, **nowhere},
                          capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode != 0 and "cannot be loaded" not in done.stderr, done.stderr


@test
def what_is_put_elsewhere_is_copied_and_deleted_there(store):
    model, here, there = (os.path.join(store.home, name) for name in ("model", "here", "there"))
    os.makedirs(os.path.join(model, "layers"))
    with open(os.path.join(model, "layers", "0"), "w") as file:
        file.write("weights")
    uuid = store.run("checkpoints", "put", model, "--storage", here,
                     "--metadata", '{"steps_completed": 3}').strip()
    assert store.run("checkpoints", "cp", uuid, there, "--storage", here) == uuid + "\n"
    store.run("checkpoints", "cp", uuid, there, "--storage", here, expect=5)
    store.run("checkpoints", "rm", uuid, "--storage", here, expect=2)  # nobody can be asked
    store.run("checkpoints", "rm", uuid, "-y", "--storage", here)
    store.run("checkpoints", "verify", uuid, "--storage", here, expect=3)
    answer = json.loads(store.run("checkpoints", "verify", uuid, "--storage", there, "--json"))
    assert answer == {"uuid": uuid, "size": 7 + len('{"steps_completed": 3}')}, answer


@test
def a_deleted_one_no_longer_counts(store):
    store.make("complete")
    checkpoint = only_checkpoint(store)
    before = [json.loads(line) for line in store.run("checkpoints", "du", "--json").splitlines()]
    assert before == [{"experiment_id": 1, "name": before[0]["name"], "checkpoints": 1,
                       "size": checkpoint["size"]}], before
    assert store.run("checkpoints", "rm", "-y", checkpoint["uuid"]) == (
        f"Checkpoint {checkpoint['uuid']} is deleted.\n")
    assert only_checkpoint(store)["state"] == "DELETED"
    assert store.run("checkpoints", "du") == "No checkpoints yet.\n"
    store.run("checkpoints", "get", checkpoint["uuid"], expect=3)


@test
def a_pinned_one_stays(store):
    store.make("complete")
    uuid = only_checkpoint(store)["uuid"]
    assert store.run("checkpoints", "pin", uuid[:8]) == f"Checkpoint {uuid} is pinned.\n"
    assert only_checkpoint(store)["pinned"] is True
    assert "COMPLETED, pinned" in store.run("checkpoints")
    assert "COMPLETED, pinned" in store.run("show", uuid)
    store.run("checkpoints", "rm", "-y", uuid, expect=5)
    answer = json.loads(store.run("checkpoints", "unpin", uuid, "--json"))
    assert answer == {"uuid": uuid, "pinned": False}, answer
    store.run("checkpoints", "rm", "-y", uuid)


@test
def wrong_words_are_refused(store):
    store.make("complete")
    uuid = only_checkpoint(store)["uuid"]
    for words in (["get"], ["put", store.home], ["cp", uuid], ["cp", uuid, "tape://x"],
                  ["put", "/none/such", "--storage", store.home, "--metadata", "[]"], ["fetch", uuid],
                  ["pin"]):
        store.run("checkpoints", *words, expect=2)
    store.run("checkpoints", "get", "0" * 8, expect=3)
    assert len(store.lines("checkpoints")) == 1


main({})
