"""Datasets that a context caches: recorded uses of the original, and all kinds of elements."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import programs
import pytest
from buckets import keys, started, storage_in
from conftest import PATIENCE, ROOT, Det

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

from detcore.estimator import EstimatorTrialContext
from detcore.estimator._prepare import training_input
from detcore.keras import TFKerasTrialContext, _data
from detcore.keras._tensorflow import tf
from detcore.trial import (
    CheckFailedError,
    Environment,
    ExperimentConfig,
    InvalidExperimentException,
)
from detcore.trial._dataset_cache import CachedDatasetError

FOLDER = ROOT / "tests/data/trials/cache"


def context_of(phase: dict[str, Any], directory: Path, kind: Any = TFKerasTrialContext) -> Any:
    size = phase.get("size", 1)
    layer = phase.get("data_layer", {"container_storage_path": str(directory)})
    context = kind(
        Environment(
            ExperimentConfig({"resources": {"slots_per_trial": size}, "data_layer": layer}),
            {"global_batch_size": phase.get("gbs", 12)},
            trial_seed=phase.get("seed", 0),
            steps_completed=phase.get("steps_completed", 0),
        )
    )
    context.distributed = types.SimpleNamespace(rank=phase.get("rank", 0), size=size)
    return context


def use(context: Any, phase: dict[str, Any], which: str, calls: list[int]) -> Any:
    name = {"train": "cache_train_dataset", "val": "cache_validation_dataset"}[which]
    cache = getattr(context.experimental, name)
    names = phase.get("id", "ds"), phase.get("version", "1")
    count = 0 if phase.get("form") == "empty" else phase.get("n", 10)

    def make(count: int) -> Any:
        calls.append(count)
        return tf.data.Dataset.range(count)

    return cache(*names, **phase.get("kwargs", {}))(make)(count)


def replayed(phase: dict[str, Any], directory: Path) -> dict[str, Any]:
    done: dict[str, Any] = {"phase": phase}
    calls: list[int] = []
    try:
        context = context_of(phase, directory)
        dataset = use(context, phase, phase.get("which", "train"), calls)
        done["dataset_calls"] = len(calls)
        epochs = range(phase.get("epochs", 3))
        done["epochs"] = [[int(x) for x in dataset.as_numpy_iterator()] for _ in epochs]
        done["dataset_length"] = len(done["epochs"][-1])
        if "again" in phase:
            done["second_use"] = "accepted"
            use(context, phase, phase["again"], calls)
    except CheckFailedError as refusal:
        done["second_use"] = type(refusal).__name__
    except AssertionError:
        done["error"] = "AssertionError"
    files = directory.glob("*/*/records.cache")
    done["datasets"] = sorted(str(file.parent.relative_to(directory)) for file in files)
    return done


@pytest.mark.parametrize("case", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_uses(case: Path, tmp_path: Path) -> None:
    for recorded in json.loads(case.read_text())["phases"]:
        assert replayed(recorded["phase"], tmp_path) == recorded


def numbers() -> Any:
    return tf.data.Dataset.range(5000).map(
        lambda i: (
            {"x": tf.cast(tf.fill([2, 2], i), tf.bfloat16), "is": i > 2},
            tf.cast(i, tf.uint8),
        )
    )


def texts() -> Any:
    return tf.data.Dataset.range(300).map(
        lambda i: {"text": tf.strings.as_string(i), "of_any_length": tf.range(i)}
    )


def gaps() -> Any:
    ragged = tf.ragged.constant([[[1], []], [[2, 3]], []])
    sparse = tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])
    return tf.data.Dataset.from_tensor_slices((ragged, sparse))


@pytest.mark.parametrize("make", [numbers, texts, gaps])
def test_elements_come_back_as_they_were(make: Any, tmp_path: Path) -> None:
    context = context_of({}, tmp_path)
    cached = context.experimental.cache_validation_dataset("a/../b", "1")(make)()
    assert cached.element_spec == make().element_spec
    for ours, theirs in zip(cached, make()):
        tf.nest.map_structure(
            np.testing.assert_array_equal,
            tf.nest.flatten(ours, expand_composites=True),
            tf.nest.flatten(theirs, expand_composites=True),
        )
    assert sum(1 for _ in cached) == sum(1 for _ in make())
    assert [path.name for path in tmp_path.iterdir()] == ["a%2F..%2Fb"]


@pytest.mark.parametrize("kind", ["minio", "fake_gcs"])
def test_machines_have_copies_of_a_bucket(kind: str, tmp_path: Path) -> None:
    with started(kind) as server:
        layer = storage_in(server, "")
        del layer["prefix"]
        epochs: list[list[int]] = []
        calls: list[int] = []
        for machine in ("one", "two"):
            local = str(tmp_path / machine)
            layer.update(bucket_directory_path="/kept", local_cache_container_path=local)
            context = context_of({"data_layer": layer}, tmp_path)
            epochs.append(list(use(context, {}, "train", calls).as_numpy_iterator()))
        assert epochs[0] == epochs[1] == list(range(10)) and calls == [10]
        assert keys(server, "") == ["kept/ds/1_train/records.cache"]
    for layer in ({"type": "azure"}, {"type": "s3", "bucket": ""}):
        with pytest.raises(CachedDatasetError):
            use(context_of({"data_layer": layer}, tmp_path), {}, "train", [])


TRIAL = """
import numpy as np
from detcore.keras import TFKerasTrial
from detcore.keras._tensorflow import tf

class Cached(TFKerasTrial):
    def __init__(self, context):
        self.context = context

    def build_model(self):
        model = self.context.wrap_model(tf.keras.Sequential([tf.keras.layers.Dense(1)]))
        model.compile(self.context.wrap_optimizer(tf.keras.optimizers.SGD(0.01)), "mse")
        return model

    def build_training_data_loader(self):
        @self.context.experimental.cache_train_dataset("ramp", "1", shuffle=True)
        def make():
            with open(self.context.get_data_config()["calls"], "a") as calls:
                calls.write("made ")
            rows = np.arange(8, dtype=np.float32).reshape(-1, 1)
            return tf.data.Dataset.from_tensor_slices((rows, 2 * rows))

        return make().repeat().batch(self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self):
        return np.ones((4, 1)), np.ones((4, 1))
"""


def test_an_experiment_reads_what_one_before_it_cached(
    det: Det, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model_def.py").write_text(TRIAL)
    config = {
        "entrypoint": "model_def:Cached",
        "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 5}},
        "hyperparameters": {"global_batch_size": 4},
        "reproducibility": {"experiment_seed": 7},
        "data": {"calls": str(tmp_path / "calls")},
        "data_layer": {"type": "shared_fs", "container_storage_path": str(tmp_path / "kept")},
    }
    (tmp_path / "experiment.yaml").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETCORE_PYTHON", sys.executable)
    for _ in range(2):
        command = [os.environ["DETCORE_COMMAND"], "run", "experiment.yaml"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "calls").read_text() == "made "
    first, second = (programs.reports(det, number) for number in (1, 2))
    assert first == second and len(first) == 2


def test_ranks_are_fed_by_a_cache_or_by_wrap_dataset(tmp_path: Path) -> None:
    context = context_of({}, tmp_path)
    plain = tf.data.Dataset.range(3)
    with pytest.raises(InvalidExperimentException):
        _data.check_wrapped(context, plain)
    cached = use(context, {}, "train", [])
    _data.check_wrapped(context, cached.batch(2))
    context.wrap_dataset(plain)
    with pytest.raises(CheckFailedError, match="both"):
        _data.check_wrapped(context, cached)


def test_an_input_function_of_an_estimator_is_fed_in_its_graph(tmp_path: Path) -> None:
    context = context_of(
        {"seed": 1, "steps_completed": 2, "gbs": 4}, tmp_path, EstimatorTrialContext
    )
    cached = training_input(lambda: use(context, {}, "train", []), context)
    with tf.Graph().as_default():
        batches = cached(None, None, None).batch(6)
        batch = tf.compat.v1.data.make_one_shot_iterator(batches).get_next()
        with tf.compat.v1.Session() as session:
            assert session.run(batch).tolist() == [8, 9, 0, 1, 2, 3]
        endless = context.experimental.cache_validation_dataset("endless", "1")
        with pytest.raises(AssertionError, match="has no end"):
            endless(lambda: tf.data.Dataset.range(3).repeat())()


def test_what_a_function_must_not_do(tmp_path: Path) -> None:
    def fails() -> None:
        raise KeyError("mine")

    def cached(make: Any) -> Any:
        return context_of({}, tmp_path).experimental.cache_train_dataset("ds", "1")(make)()

    with pytest.raises(KeyError, match="mine"):
        cached(fails)
    with pytest.raises(TypeError, match="not a list"):
        cached(lambda: [1])
    with pytest.raises(AssertionError, match="has no end"):
        cached(lambda: tf.data.Dataset.range(3).repeat())
    cached(lambda: tf.data.Dataset.range(3))  # nothing is left of the others
    (file,) = tmp_path.glob("ds/1_train/records.cache")
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"\2", b"\3", 1))
    with pytest.raises(tf.errors.OpError, match=re.escape(str(file))):
        list(cached(fails))
