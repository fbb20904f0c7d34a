"""The state of optimizers in a checkpoint of a TFKerasTrial."""

from __future__ import annotations

import pathlib
import types
from typing import Any

import numpy as np
import pytest

pytest.importorskip("detcore.keras", reason="TensorFlow is not installed")

import h5py
from detcore.core import DistributedContext
from detcore.keras import _optimizer_weights
from detcore.keras._checkpoint import WEIGHTS, Checkpoint
from detcore.keras._tensorflow import tf
from detcore.trial import CheckFailedError
from detcore.trial._written_by import tell_other_release

ROWS = np.arange(64, dtype=np.float32).reshape(-1, 16) / 64


def trained(optimizer: Any, batches: int, width: int = 256) -> Any:
    """The first kernel is large: 16 KiB."""
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(width, input_shape=(16,)), tf.keras.layers.Dense(1)]
    )
    model.compile(optimizer, "mse")
    for _ in range(batches):
        model.train_on_batch(ROWS, np.ones((4, 1)))
    return model


def saved(folder: pathlib.Path, model: Any, *others: Any) -> pathlib.Path:
    model.save_weights(str(folder / "weights"), save_format="tf")
    path = folder / "optimizers.h5"
    _optimizer_weights.save(path, [model.optimizer, *others], model, folder / "weights")
    return path


def test_checkpoints_of_others_are_refused(tmp_path: pathlib.Path) -> None:
    def restore(model: Any) -> None:
        context: Any = types.SimpleNamespace(_optimizers=list, distributed=DistributedContext())
        unused: Any = None
        Checkpoint(model, context, unused, unused, unused).restore(tmp_path)

    def adam() -> Any:
        return trained(tf.keras.optimizers.Adam(0.1), 1)

    with pytest.raises(CheckFailedError, match="has no determined-keras-model-weights"):
        restore(adam())
    model = adam()
    model.save_weights(str(tmp_path / WEIGHTS), save_format="tf")
    restore(trained(tf.keras.optimizers.SGD(0.1), 0))
    with pytest.raises(CheckFailedError, match=r"does not fit .*incompatible tensor"):
        restore(trained(tf.keras.optimizers.Adam(0.1), 0, width=8))
    model.add(tf.keras.layers.Dense(1, name="more"))
    with pytest.raises(CheckFailedError, match="lacks more/kernel:0, more/bias:0"):
        restore(model)
    (tmp_path / "load_data.json").write_text('{"trial_type": "EstimatorTrial"}')
    with pytest.raises(CheckFailedError, match="that of a EstimatorTrial"):
        restore(adam())


def test_a_checkpoint_of_another_release_is_told(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours, unpatched = tf.__version__, tf.__version__.rpartition(".")[0]
    for framework, is_told in (
        (f"tensorflow-{ours}", False),
        (f"tensorflow-{unpatched}.99", False),
        ("tensorflow-2.8.4", True),
    ):
        caplog.clear()
        (tmp_path / "metadata.json").write_text(f'{{"framework": "{framework}"}}')
        tell_other_release(tmp_path)
        assert ("TensorFlow 2.8.4" in caplog.text) == is_told == bool(caplog.text)


def variables(optimizer: Any) -> list[Any]:
    return [variable.numpy() for variable in _optimizer_weights.variables_of(optimizer)]


def check_same(optimizer: Any, other: Any) -> None:
    assert len(variables(optimizer)) == len(variables(other))
    for one, another in zip(variables(optimizer), variables(other)):
        np.testing.assert_array_equal(one, another)


@pytest.mark.parametrize(
    "make, is_once",
    [
        (lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), True),
        (lambda: tf.keras.optimizers.Adam(0.1, amsgrad=True), True),
        (lambda: tf.keras.optimizers.legacy.Adam(0.1), False),
        (lambda: tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1)), False),
    ],
    ids=["momentum", "adam", "legacy adam", "loss scale"],
)
def test_state_is_as_it_was_and_written_once(
    tmp_path: pathlib.Path, make: Any, is_once: bool
) -> None:
    model = trained(make(), 3)
    path = saved(tmp_path, model)
    again = trained(make(), 0)
    _optimizer_weights.load(path, [again.optimizer], again, tmp_path / "weights")
    assert len(variables(model.optimizer)) > 1
    check_same(model.optimizer, again.optimizer)
    assert (path.stat().st_size < 16384) is is_once


def test_a_second_optimizer_is_kept_whole(tmp_path: pathlib.Path) -> None:
    model = trained(tf.keras.optimizers.Adam(0.1), 1)
    second = tf.keras.optimizers.Adam(0.2)
    kernels = model.trainable_variables[::2]
    second.apply_gradients((tf.ones_like(kernel), kernel) for kernel in kernels)
    path = saved(tmp_path, model, second)
    again = trained(tf.keras.optimizers.Adam(0.1), 0)
    optimizers = [again.optimizer, tf.keras.optimizers.Adam(0.3)]
    _optimizer_weights.load(path, optimizers, again, tmp_path / "weights")
    check_same(second, optimizers[1])
    assert float(optimizers[1].learning_rate) == pytest.approx(0.2)


def test_another_model_s_state_is_not_taken(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = saved(tmp_path, trained(tf.keras.optimizers.Adam(0.1), 2))
    wider = trained(tf.keras.optimizers.Adam(0.1), 0, width=8)
    _optimizer_weights.load(path, [wider.optimizer], wider, tmp_path / "weights")
    assert "begins anew" in caplog.text
    assert all(not value.any() for value in variables(wider.optimizer))


def test_names_of_a_large_model_are_more_than_an_attribute_has(tmp_path: pathlib.Path) -> None:
    names = [f"Adam/v/block_{number}/a_long_name_of_a_layer/kernel:0" for number in range(3000)]
    with h5py.File(tmp_path / "names.h5", "w") as file:
        _optimizer_weights._put_texts(file, "weight_names", names)
        _optimizer_weights._put_texts(file, "few", names[:2])
        assert _optimizer_weights._texts(file, "weight_names") == names
        assert _optimizer_weights._texts(file, "few") == names[:2]
        assert _optimizer_weights._texts(file, "none") == []
