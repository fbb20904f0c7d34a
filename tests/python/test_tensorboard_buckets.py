"""TensorBoard files in real buckets: what `det tensorboard` shows of them, and what kills leave."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boards import awaited, read, records
from boards import started as board_started
from buckets import Json, Proxy, keys, s3, started, storage_in
from conftest import PATIENCE
from detcore import core
from experiments import wait_until
from programs import run, start


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with started(getattr(request, "param", "minio")) as server:
        yield server


def test_what_is_in_a_bucket_is_shown_while_it_grows(server: Any) -> None:
    config = {"checkpoint_storage": storage_in(server, "shown")}
    manual = core.TensorboardMode.MANUAL

    def has(values: list[float]) -> Any:
        return lambda points: [point[2] for point in points] == values

    with core.init(config=config, tensorboard_mode=manual) as context:
        context.tensorboard.add_scalar("own", 0.5, 0)
        context.train.upload_tensorboard_files()
        with board_started("1", "--refresh", "0.2", options=["--reload_interval", "1"]) as address:
            scalars = "data/plugin/scalars/scalars?run=trial/1&tag=own"
            awaited(address, "data/runs", lambda runs: runs == ["trial/1"])
            awaited(address, scalars, has([0.5]))
            context.tensorboard.add_scalar("own", 1.5, 1)
            context.train.upload_tensorboard_files()
            awaited(address, scalars, has([0.5, 1.5]))


# In the place of TensorBoard: what it is given is all that it tells.
LISTENER = """#!/bin/sh
for word; do echo "$word"; done >"$TMPDIR/arguments.new"
mv "$TMPDIR/arguments.new" "$TMPDIR/arguments"
while :; do sleep 0.05; done
"""


def environment() -> dict[str, str]:
    """With the listener on PATH."""
    folder = Path(os.environ["TMPDIR"])
    (folder / "tensorboard").write_text(LISTENER)
    (folder / "tensorboard").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@contextlib.contextmanager
def listening(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`det tensorboard` and the directory that it shows; what is left is ended by a SIGINT."""
    command = [os.environ["DETCORE_COMMAND"], "tensorboard", *arguments]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        told = Path(os.environ["TMPDIR"], "arguments")
        wait_until(lambda: told.exists() or process.poll() is not None, "TensorBoard")
        assert process.poll() is None, process.stderr and process.stderr.read()
        logdir = told.read_text().splitlines()[0]
        try:
            yield process, Path(logdir.removeprefix("--logdir="))
        finally:
            process.send_signal(signal.SIGINT)


def copies() -> list[Path]:
    return list(Path(os.environ["TMPDIR"]).glob("det-tensorboard-*"))


def train(config: Json, **options: Any) -> None:
    with core.init(config=config, external_id="trained", **options) as context:
        context.train.report_training_metrics(1, {"loss": 0.5})


@pytest.mark.parametrize("server", ["versitygw", "fake_gcs", "azurite"], indirect=True)
def test_copies_are_private_and_go_with_ctrl_c(server: Any) -> None:
    config = {"checkpoint_storage": storage_in(server, "copied")}
    train(config)
    with listening("1", "--refresh", "0.1") as (process, logdir):
        [folder] = copies()
        assert folder in logdir.parents and folder.stat().st_mode & 0o777 == 0o700
        [first] = (logdir / "trial/1").iterdir()
        [key] = [key for key in keys(server, "copied/") if "tfevents" in key]
        assert key.endswith(f"/tensorboard/experiment/1/trial/1/{first.name}")
        train(config)  # the next run of the same trial
        wait_until(lambda: len(list((logdir / "trial/1").iterdir())) == 2, "the second file")
    assert process.wait() == -signal.SIGINT
    assert not copies()


def test_credentials_are_those_of_the_environment(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = storage_in(server, "checkpoints")
    with core.init(checkpoint_storage=storage) as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.checkpoint.upload(tmp_path, {"steps_completed": 1})
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", storage["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", storage["secret_key"])
    with listening("1") as (_, logdir):
        [point] = read(logdir / "trial/1").Scalars("Determined/loss")
        assert point.value == 0.5


def test_what_cannot_be_fetched_is_told_and_tried_again(server: Any) -> None:
    with Proxy(server) as proxy:
        storage = s3(server, prefix="refused", endpoint_url=proxy.endpoint)
        train({"checkpoint_storage": storage})
        with listening("1", "--refresh", "0.1") as (process, logdir):
            proxy.set({"how": "denied", "method": "GET"})
            assert process.stderr
            line = process.stderr.readline()
            assert line.startswith("det: fetching events: ") and "Access Denied" in line
            assert storage["secret_key"] not in line
            proxy.set()
            train({"checkpoint_storage": storage})
            wait_until(lambda: len(list((logdir / "trial/1").iterdir())) == 2, "the second file")


def test_ctrl_c_ends_the_first_copy(server: Any) -> None:
    with Proxy(server) as proxy:
        train({"checkpoint_storage": s3(server, prefix="slow", endpoint_url=proxy.endpoint)})
        proxy.set({"how": "hang", "method": "GET", "target": "tfevents"})
        command = [os.environ["DETCORE_COMMAND"], "tensorboard", "1"]
        with subprocess.Popen(command, env=environment()) as process:
            wait_until(
                lambda: any("tfevents" in sent["target"] for sent in proxy.log()), "a request"
            )
            assert copies()
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 128 + signal.SIGINT
        assert not copies()


def test_a_bucket_that_cannot_be_read_is_no_reason_to_start(server: Any) -> None:
    with Proxy(server) as proxy:
        train({"checkpoint_storage": s3(server, prefix="closed", endpoint_url=proxy.endpoint)})
        proxy.set({"how": "denied", "method": "GET"})
        with pytest.raises(AssertionError, match="Access Denied"), listening("1"):
            pass
        assert not copies()


# What it has reported is in `progress`, as in a checkpoint: the next start goes on from there.
UPLOADING = """
    import json, os, sys
    from pathlib import Path
    from detcore import core

    progress, goal, mode = Path(sys.argv[1]), int(sys.argv[2]), core.TensorboardMode[sys.argv[3]]
    config = {"checkpoint_storage": json.loads(os.environ["TEST_STORAGE"])}
    step = int(progress.read_text())

    def report(context):
        global step
        for _ in range(20):
            context.tensorboard.add_scalar("own", step / 2, step)
            context.tensorboard.add_histogram("weights", range(step % 7 + 1), step)
            step += 1

    def keep():
        new = progress.with_suffix(".new")
        new.write_text(str(step))
        new.rename(progress)

    def begin():
        return core.init(external_id="killed", config=config, tensorboard_mode=mode)

    if mode is core.TensorboardMode.MANUAL:
        with begin() as context:
            while step < goal:
                report(context)
                context.train.upload_tensorboard_files()
                keep()
    while step < goal:  # what waits is uploaded at the end of each run
        with begin() as context:
            report(context)
        keep()
"""


@pytest.mark.parametrize("mode", ["MANUAL", "AUTO"])
def test_killed_while_uploading_it_loses_nothing_that_was_kept(
    server: Any, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    draw = random.Random(seed)
    prefix = f"killed-{mode}"
    monkeypatch.setenv("TEST_STORAGE", json.dumps(storage_in(server, prefix)))
    progress = tmp_path / "progress"
    progress.write_text("0")
    for _ in range(3):
        with start(UPLOADING, str(progress), "1000000", mode) as process:
            kept = progress.read_text()
            while progress.read_text() == kept:
                assert process.poll() is None, process.stdout and process.stdout.read()
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.3))
            process.kill()
    goal = int(progress.read_text()) + 40
    run(UPLOADING, str(progress), str(goal), mode)

    stored = tmp_path / "stored"
    stored.mkdir()
    for key in keys(server, prefix + "/"):
        status, _, body = server.send("GET", f"/{server.bucket}/{key}")
        assert status == 200
        file = stored / Path(key).name
        assert not file.exists() and "tfevents" in key
        file.write_bytes(body)
        assert sum(len(record) + 16 for record in records(file)) == len(body), "it is cut"
    scalars, histograms = set(), set()
    for file in stored.iterdir():
        board = read(file)
        tags = board.Tags()
        if "own" in tags["scalars"]:
            scalars |= {(point.step, point.value) for point in board.Scalars("own")}
        if "weights" in tags["histograms"]:
            histograms |= {
                (event.step, event.histogram_value.num) for event in board.Histograms("weights")
            }
    assert scalars == {(step, step / 2) for step in range(goal)}
    assert histograms == {(step, step % 7 + 1) for step in range(goal)}
