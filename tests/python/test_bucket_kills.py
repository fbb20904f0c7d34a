"""Programs that are killed while they save to a real bucket, and what the next start finds."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from buckets import Json, Proxy, keys, object_stores, started, storage_in, uploads
from conftest import Det
from detcore import core, errors
from detcore.storage import Storage
from programs import reports, run, start, trial

UPLOAD = """
    import json, os, sys
    from detcore.storage import Storage

    storage = Storage(json.loads(os.environ["TEST_STORAGE"]))
    print("begins", flush=True)
    print(storage.upload(sys.argv[1]), flush=True)
"""

# Saves each step in the background; what is on its way waits in the stage.
TRAIN = """
    import json, os, sys
    from detcore import core

    stage, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    storage = json.loads(os.environ["TEST_STORAGE"])
    manual = core.TensorboardMode.MANUAL  # nothing but checkpoints goes to the storage
    keep = {"checkpoint_storage": {"save_trial_latest": 100}}
    with core.init(
        external_id="killed", config=keep, checkpoint_storage=storage, tensorboard_mode=manual
    ) as context:
        context.checkpoint.stage_saves(stage, 1 << 30)
        step = context.info.trial.steps_completed
        print("from", step, flush=True)
        if context.info.latest_checkpoint:
            context.checkpoint.download(context.info.latest_checkpoint, sys.argv[4])
        while step < steps:
            step += 1
            context.train.report_training_metrics(step, {"loss": 1 / step})
            context.checkpoint.upload_async(folder, {"steps_completed": step})
"""


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with started(request.param) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file in parts, and some that are not."""
    (tmp_path / "folder/nested").mkdir(parents=True)
    large = random.Random(1).randbytes(1 << 20)
    (tmp_path / "folder/large").write_bytes(large * 33)
    for number in range(10):
        (tmp_path / f"folder/nested/{number}").write_bytes(large[: number * 1000])
    return tmp_path / "folder"


def contents(folder: Path) -> dict[str, str]:
    """The digest of each file of the user's."""
    own = {"metadata.json", ".detcore-manifest.json"}
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in own)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def sweep(config: Json) -> None:
    """What each run does at its start."""
    with core.init(checkpoint_storage=config):
        pass


def ids_below(server: Any, prefix: str) -> set[str]:
    """The first parts of the keys there: ids, and what is our own."""
    return {key[len(prefix) + 1 :].split("/")[0] for key in keys(server, prefix + "/")}


def check_whole(server: Any, prefix: str, folder: Path, target: Path) -> set[str]:
    """Nothing is there but whole checkpoints. `target` has those that were found so already."""
    ids = ids_below(server, prefix)
    assert ".detcore" not in ids and not uploads(server)
    for storage_id in ids:
        check_visible(server, prefix, storage_id, folder, target)
        assert (target / storage_id).exists()
    return ids


def everything(server: Any, prefix: str) -> set[str]:
    """All keys, and all that was begun; what Azure has of the latter it drops by itself."""
    begun = [] if isinstance(server, object_stores.Azurite) else uploads(server)
    return {*keys(server, prefix + "/"), *(f"begun: {key}" for key in begun)}


def check_swept(server: Any, prefix: str, before: set[str], folder: Path, target: Path) -> set[str]:
    """What was there before the sweep is gone, or of a whole checkpoint: their ids. A server may
    still be at work on what a process that is gone had sent: that comes later, and is no matter of
    this sweep."""
    left = everything(server, prefix) & before
    begun = {key for key in left if key.startswith("begun: ")}
    ids = {key[len(prefix) + 1 :].split("/")[0] for key in left - begun}
    assert not begun
    for storage_id in ids:
        assert storage_id != ".detcore"
        check_visible(server, prefix, storage_id, folder, target)
        assert (target / storage_id).exists()
    return ids


def check_visible(server: Any, prefix: str, storage_id: str, folder: Path, target: Path) -> None:
    """What can be seen is whole."""
    if (target / storage_id).exists():
        return
    try:
        Storage(storage_in(server, prefix)).download(storage_id, target / storage_id)
    except errors.NotFoundError:
        return
    assert contents(target / storage_id) == contents(folder)


@pytest.mark.parametrize(
    "server", ["minio", "versitygw", "fake_gcs", "azurite"], indirect=True, scope="module"
)
def test_killed_at_any_instant_it_leaves_all_or_nothing(
    server: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = storage_in(server, "any")
    monkeypatch.setenv("TEST_STORAGE", json.dumps(config))
    began = time.monotonic()
    run(UPLOAD, str(folder))
    takes = time.monotonic() - began
    draw = random.Random(14)
    standing: set[str] = set()
    for _ in range(4):
        with start(UPLOAD, str(folder)) as process:
            assert process.stdout and process.stdout.readline() == "begins\n"
            time.sleep(draw.uniform(0, takes))
            process.kill()
        for storage_id in ids_below(server, "any") - {".detcore", ".detcore-parts"}:
            check_visible(server, "any", storage_id, folder, tmp_path)
        before = everything(server, "any")
        sweep(config)
        found = check_swept(server, "any", before, folder, tmp_path)
        assert standing <= found
        standing = found


@pytest.mark.parametrize("server", ["minio", "versitygw"], indirect=True, scope="module")
def test_trial_goes_on_from_what_a_killed_run_had_stored(
    server: Any, folder: Path, tmp_path: Path, det: Det, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, config = tmp_path / "stage", storage_in(server, "trial")
    stage.mkdir()
    with Proxy(server) as proxy:
        monkeypatch.setenv("TEST_STORAGE", json.dumps({**config, "endpoint_url": proxy.endpoint}))
        assert run(TRAIN, str(stage), str(folder), "1") == "from 0\n"
        # Of the second save one part arrives, and the others never do.
        lost = sorted(part_of(sent) for sent in parts(proxy) if part_of(sent) != 2)
        proxy.set(*({"how": "hang", "target": f"partNumber={number}&"} for number in lost))
        with start(TRAIN, str(stage), str(folder), "2", str(tmp_path / "one")) as process:
            while not any(sent["status"] == 200 for sent in parts(proxy)):
                time.sleep(0.01)
            process.kill()
        [unfinished] = uploads(server)
        proxy.set()
        assert run(TRAIN, str(stage), str(folder), "2", str(tmp_path / "two")) == "from 2\n"
        again = [part_of(sent) for sent in parts(proxy) if unfinished in sent["target"]]
        assert sorted(again) == lost and lost
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(folder)
    # The one from before, and the one that the start finished before it began.
    assert len(check_whole(server, "trial", folder, tmp_path)) == 2
    assert trial(det)["state"] == "COMPLETED"
    assert [steps for _, steps, _ in reports(det)] == [1, 2]


def parts(proxy: Proxy) -> list[Json]:
    return [record for record in proxy.log() if "partNumber" in record["target"]]


def part_of(record: Json) -> int:
    return int(record["target"].partition("partNumber=")[2].partition("&")[0])
