"""A model of the layers engine opens in tf.keras, and one of tf.keras in the layers engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import detnn
import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")

X = np.random.default_rng(1).normal(size=(5, 2, 3)).astype(np.float32)


def keras_model() -> Any:
    x = tf.keras.Input((2, 3))
    y = tf.keras.layers.Flatten()(x)
    shared = tf.keras.layers.Dense(6, activation="gelu")
    y = tf.keras.layers.Add()([shared(y), shared(y)])
    return tf.keras.Model(x, tf.keras.layers.Dense(2, activation="softmax")(y))


def name_of(variable: Any) -> str:
    return str(variable.name).removesuffix(":0")


def test_a_model_of_keras_opens_in_ours(tmp_path: Path) -> None:
    theirs = keras_model()
    weights = {name_of(one): one.numpy() for one in theirs.weights}
    safetensors.save_file(weights, tmp_path / "weights.safetensors")
    ours = detnn.Model(theirs.to_json())
    ours.load_weights(tmp_path / "weights.safetensors")
    np.testing.assert_allclose(ours.predict(X)[0], theirs(X).numpy(), atol=1e-5)


def test_a_model_of_ours_opens_in_keras(tmp_path: Path) -> None:
    ours = detnn.Model(keras_model().to_json())
    ours.save_weights(tmp_path / "weights.safetensors")
    stored = safetensors.load_file(tmp_path / "weights.safetensors")
    theirs = tf.keras.models.model_from_json(ours.to_json())
    for variable in theirs.weights:
        variable.assign(stored.pop(name_of(variable)))
    assert not stored
    np.testing.assert_allclose(theirs(X).numpy(), ours.predict(X)[0], atol=1e-5)
