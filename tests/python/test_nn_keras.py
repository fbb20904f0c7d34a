"""A model of the layers engine opens in tf.keras, and one of tf.keras in the layers engine."""

from __future__ import annotations

import json
import shutil
import zipfile
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


def rich_model() -> Any:
    """Every way in which Keras nests weights in its files."""
    layers = tf.keras.layers
    x = tf.keras.Input((6, 4))
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    y = layers.MultiHeadAttention(2, 3)(y, y)
    y = layers.BatchNormalization(name="a")(y)
    y = layers.TimeDistributed(layers.Dense(4), name="a/b")(y)
    deep = tf.keras.Sequential([layers.Dense(3), layers.PReLU()], name="deep")
    inner = tf.keras.Sequential(
        [layers.Dense(5), layers.BatchNormalization(), deep, layers.Dropout(0.5)], name="inner"
    )
    y = layers.TimeDistributed(tf.keras.Sequential([layers.Dense(4)]))(inner(y))
    y = layers.SeparableConv1D(4, 2, trainable=False)(y)
    y = layers.GRU(3)(layers.LayerNormalization(dtype="mixed_bfloat16")(y))
    model = tf.keras.Model(x, [layers.Dense(2)(y), layers.Dense(3)(y)])
    random = np.random.default_rng(3)
    model.set_weights([random.uniform(0.1, 1, one.shape) for one in model.get_weights()])
    model.compile("adam", "mse")
    return model


FILES_OF_KERAS = ("model.keras", "model.h5", "model.weights.h5", "weights.h5")


def save(model: Any, path: Path) -> None:
    if path.name in ("model.keras", "model.h5"):
        model.save(path)
    else:
        model.save_weights(path)


@pytest.mark.parametrize("name", FILES_OF_KERAS)
def test_files_of_keras_are_read(name: str, tmp_path: Path) -> None:
    theirs = rich_model()
    save(theirs, tmp_path / name)
    given = np.random.default_rng(2).normal(size=(5, 6, 4)).astype(np.float32)
    expected = results(theirs(given))
    models = [detnn.Model(theirs.to_json())]
    models[0].load_weights(tmp_path / name)
    if name in ("model.keras", "model.h5"):
        models.append(detnn.Model.load(tmp_path / name))
    for ours in models:
        for one, other in zip(ours.predict(given), expected):
            np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2)
        for path, values in weights_by_path(theirs).items():
            if path in ours.weights():
                np.testing.assert_array_equal(ours.weights()[path], values.numpy(), path)


def test_links_out_of_a_file_are_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    theirs = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,), name="d")])
    ours = detnn.Model(theirs.to_json())
    before = ours.weights()["d/kernel"].copy()
    theirs.save_weights(tmp_path / "weights.h5")
    (tmp_path / "secret").write_bytes(b"\0\0\x80\x3f" * 6)

    def external(group: Any) -> None:
        group["kernel:0"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/d/d/kernel:0")

    def soft(group: Any) -> None:
        group["kernel:0"] = h5py.SoftLink("/d/d/bias:0")

    def elsewhere(group: Any) -> None:
        files = [(str(tmp_path / "secret"), 0, 24)]
        group.create_dataset("kernel:0", (3, 2), "f4", external=files)

    def virtual(group: Any) -> None:
        layout = h5py.VirtualLayout((3, 2), "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "d/d/kernel:0", (3, 2))
        group.create_virtual_dataset("kernel:0", layout)

    def filtered(group: Any) -> None:
        group.create_dataset("kernel:0", data=np.ones((3, 2), "f4"), compression="lzf")

    shutil.copy(tmp_path / "weights.h5", tmp_path / "other.h5")
    refusals = {
        external: "a link to another place",
        soft: "a link to another place",
        elsewhere: "in another file",
        virtual: "in another file",
        filtered: "needs the filter 32000",
    }
    for change, reason in refusals.items():
        shutil.copy(tmp_path / "other.h5", tmp_path / "weights.h5")
        with h5py.File(tmp_path / "weights.h5", "r+") as file:
            del file["d/d/kernel:0"]
            change(file["d/d"])
        with pytest.raises(RuntimeError, match=reason):
            ours.load_weights(tmp_path / "weights.h5")
        np.testing.assert_array_equal(ours.weights()["d/kernel"], before)
    with h5py.File(tmp_path / "weights.h5", "r+") as file:
        del file["d/d/kernel:0"]
        data = np.arange(6, dtype="f8").reshape(3, 2)
        file["d/d"].create_dataset("kernel:0", data=data, chunks=(1, 2), compression="gzip")
    ours.load_weights(tmp_path / "weights.h5")
    np.testing.assert_array_equal(ours.weights()["d/kernel"], data)


def test_archives_that_grow_are_refused(tmp_path: Path) -> None:
    theirs = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    theirs.save(tmp_path / "model.keras")
    for member, size in (("config.json", 65 << 20), ("model.weights.h5", 65 << 20)):
        with zipfile.ZipFile(tmp_path / "model.keras") as whole:
            parts = {one: whole.read(one) for one in whole.namelist()}
        parts[member] += bytes(size)
        with zipfile.ZipFile(tmp_path / "grown.keras", "w", zipfile.ZIP_DEFLATED) as grown:
            for name, data in parts.items():
                grown.writestr(name, data)
        assert (tmp_path / "grown.keras").stat().st_size < 1 << 20
        with pytest.raises(RuntimeError, match=f"its '{member}' has .* are expected"):
            detnn.Model.load(tmp_path / "grown.keras")
