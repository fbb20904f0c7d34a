"""A model of the layers engine opens in tf.keras, and one of tf.keras in the layers engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import detnn
import numpy as np
import pytest
from numpy.typing import NDArray

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


def test_a_normalization_that_was_adapted_opens_in_ours(tmp_path: Path) -> None:
    layer = tf.keras.layers.Normalization()
    theirs = tf.keras.Sequential([tf.keras.Input((2, 3)), layer, tf.keras.layers.Dense(2)])
    layer.adapt(3 + 2 * X)
    weights = {name_of(one): np.asarray(one) for one in theirs.weights}
    assert weights["normalization/count"].dtype == np.int64
    safetensors.save_file(weights, tmp_path / "weights.safetensors")
    ours = detnn.Model(theirs.to_json())
    ours.load_weights(tmp_path / "weights.safetensors")
    np.testing.assert_allclose(ours.predict(X)[0], theirs(X).numpy(), atol=1e-5)


RECORDED = Path(__file__).resolve().parents[1] / "data/nn/layers"
# What the layers engine has not.
REFUSED = ("supported", "there is no layer of the class", "there is no activation")


def weights_by_path(model: Any, path: str = "") -> dict[str, Any]:
    """The variables of a model as files have them: those of an inner model are under its name."""
    found: dict[str, Any] = {}
    for layer in model.layers:
        if isinstance(layer, tf.keras.Model):
            found |= weights_by_path(layer, f"{path}{layer.name}/")
        else:
            found |= {path + name_of(one): one for one in layer.weights}
    return found


def results(answer: Any) -> list[NDArray[Any]]:
    if isinstance(answer, dict):
        answer = [answer[key] for key in sorted(answer)]
    one_by_one = answer if isinstance(answer, (list, tuple)) else [answer]
    return [one.numpy().astype(np.float32) for one in one_by_one]


# Those of mixed precision round at other places.
FILES = sorted(
    path.stem for path in RECORDED.glob("*.json") if path.stem not in ("functions", "mixed")
)


@pytest.mark.parametrize("name", FILES)
def test_recorded_layers_open_in_both(name: str) -> None:
    """Of what ours writes Keras makes a model that predicts the same with the same weights."""
    arrays = safetensors.load_file(RECORDED / f"{name}.safetensors")
    opened = 0
    for case in json.loads((RECORDED / f"{name}.json").read_text()):
        if '"training": true' in json.dumps(case["model"]):
            continue  # which predicts by chance
        try:
            ours = detnn.Model(json.dumps(case["model"]))
        except RuntimeError as refusal:
            assert any(reason in str(refusal) for reason in REFUSED), (case["name"], refusal)
            continue
        theirs = tf.keras.models.model_from_json(ours.to_json())
        variables = weights_by_path(theirs)
        assert variables.keys() == ours.weights().keys(), case["name"]
        for path, values in ours.weights().items():
            variables[path].assign(values)
        for layer in theirs.layers:
            if isinstance(layer, tf.keras.layers.Normalization):
                layer.finalize_state()  # it computes with a copy
        given = {key: arrays[f"{case['name']}/inputs/{i}"] for i, key in enumerate(case["inputs"])}
        inputs = [given[one.name] for one in theirs.inputs]
        predicted = ours.predict(
            *(
                np.ascontiguousarray(one, np.int32 if one.dtype == bool else one.dtype)
                for one in inputs
            )
        )
        expected = results(theirs(inputs if len(inputs) > 1 else inputs[0], training=False))
        assert len(predicted) == len(expected), case["name"]
        for one, other in zip(predicted, expected):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-5, err_msg=case["name"])
        opened += 1
    assert opened > 0
