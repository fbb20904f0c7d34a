"""The trials of the recorded runs in tests/data/trials/keras: models and data by formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from detcore import InvalidHP
from detcore.keras import SequenceAdapter
from detcore.keras._tensorflow import tf

keras: Any = tf.keras


def rows(about: dict[str, Any]) -> tuple[Any, Any]:
    kind, count, seed = about["set"], about.get("n", 4), about.get("seed", 0.0)
    if kind == "ramp":
        x = np.arange(count, dtype=np.float32).reshape(-1, 1) * about.get("scale", 1)
        return x, x * about.get("slope", 1)
    if kind == "xor":
        repeat = about.get("repeat", 1)
        x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
        return np.tile(x, (repeat, 1)), np.tile(
            np.array([[0], [1], [1], [0]], np.float32), (repeat, 1)
        )
    side = about.get("side", 12 if kind == "img" else 8)
    label = (7 * np.arange(count) + 3) % 10
    pixel, row = np.arange(side * side), np.arange(count)[:, None]
    x = 0.5 + 0.5 * np.sin(0.13 * (pixel + 1) * (label[:, None] + 1) + 0.01 * row + seed)
    x = x.astype(np.float32)
    return (x.reshape(-1, side, side, 1) if kind == "img" else x), label


class Rows(keras.utils.Sequence):  # type: ignore[misc]
    def __init__(self, x: Any, y: Any, batch: int, raise_at: int | None = None) -> None:
        self.x, self.y, self.batch, self.raise_at = x, y, batch, raise_at
        self.epochs_ended = 0

    def __len__(self) -> int:
        return -(-len(self.x) // self.batch)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index == self.raise_at:
            raise ValueError(f"sequence failed at {index}")
        part = slice(index * self.batch, (index + 1) * self.batch)
        return self.x[part], self.y[part]

    def on_epoch_end(self) -> None:
        self.epochs_ended += 1


def data(about: dict[str, Any], context: Any) -> Any:
    x, y = rows(about)
    form, batch = about["form"], about.get("batch", context.get_per_slot_batch_size())
    if form in ("dataset", "dataset_unwrapped", "dataset_wrap_after_batch"):
        dataset = tf.data.Dataset.from_tensor_slices((x, y))
        if form == "dataset":
            dataset = context.wrap_dataset(dataset)
        dataset = dataset.batch(batch, drop_remainder=about.get("drop_remainder", False))
        if "repeat" in about and about["set"] == "ramp":
            dataset = dataset.repeat(about["repeat"])
        return context.wrap_dataset(dataset) if form.endswith("after_batch") else dataset
    if form in ("sequence", "adapter"):
        sequence = Rows(x, y, batch, about.get("raise_at"))
        return (
            SequenceAdapter(sequence, **about.get("adapter", {})) if form == "adapter" else sequence
        )
    if form == "raise_invalid_hp":
        raise InvalidHP("bad hparam in data loader")
    if form == "tuple3":
        weights = np.resize(np.array(about["sw"], np.float32), len(x))
        return x, y, weights
    return _ODD[form](x, y) if form in _ODD else (x, y)


_ODD: dict[str, Any] = {
    "array": lambda x, y: x,
    "dataset_of_x": lambda x, y: (tf.data.Dataset.from_tensor_slices(x), y),
    "dict_x": lambda x, y: ({"a": x[:, :1], "b": x[:, 1:]}, y),
    "generator": lambda x, y: ((x, y) for _ in range(3)),
    "len_mismatch": lambda x, y: (x, y[:-1]),
    "list": lambda x, y: [x, y],
    "list_of_lists": lambda x, y: ([[1.0], [2.0]], y),
    "none": lambda x, y: None,
    "python_list_x": lambda x, y: (x.tolist(), y),
    "string": lambda x, y: "data",
    "sw_mismatch": lambda x, y: (x, y, np.ones(len(x) - 1)),
    "tensors": lambda x, y: (tf.constant(x), tf.constant(y)),
    "too_small": lambda x, y: (x[:1], y[:1]),
    "tuple1": lambda x, y: (x,),
    "tuple4": lambda x, y: (x, y, x, y),
    "tuple_none_seq": lambda x, y: (None, Rows(x, y, 3)),
    "y_none": lambda x, y: (x, None),
}


class OneVariable(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.w = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros", name="w")

    def call(self, inputs: Any) -> Any:
        return self.w(inputs)


def model(about: dict[str, Any]) -> tuple[Any, str, list[str]]:
    """And its loss and metrics."""
    kind = about["model"]
    Dense = keras.layers.Dense
    if kind == "subclass":
        return OneVariable(), "mse", []
    if kind == "onevar":
        one = Dense(1, use_bias=False, kernel_initializer="zeros", name="w", input_shape=(1,))
        return keras.Sequential([one]), "mse", []
    if kind in ("xor", "random"):
        layers = [Dense(2, activation="sigmoid", input_shape=(2,), name="h")]
        layers += [keras.layers.Dropout(0.5)] * (kind == "random")
        built = keras.Sequential([*layers, Dense(1, activation="sigmoid", name="o")])
        if kind == "random":
            return built, "mse", ["mae"]
        loss, metrics = "binary_crossentropy", ["accuracy"]
    elif kind == "xor2in":
        inputs = {name: keras.Input((1,), name=name) for name in ("a", "b")}
        joined = keras.layers.Concatenate()([inputs["a"], inputs["b"]])
        hidden = Dense(2, activation="sigmoid", name="h")(joined)
        built = keras.Model(inputs, Dense(1, activation="sigmoid", name="o")(hidden))
        loss, metrics = "binary_crossentropy", ["accuracy"]
    elif kind == "pix":
        layers = [Dense(16, activation="relu", input_shape=(64,)), Dense(10, activation="softmax")]
        built = keras.Sequential(layers)
        loss, metrics = "sparse_categorical_crossentropy", ["accuracy"]
    else:
        layers = [keras.layers.Conv2D(4, 3, activation="relu", input_shape=(12, 12, 1))]
        layers += [keras.layers.MaxPooling2D(2)]
        layers += [keras.layers.BatchNormalization()] * about.get("batchnorm", False)
        layers += [keras.layers.Flatten(), Dense(10, activation="softmax")]
        built = keras.Sequential(layers)
        loss, metrics = "sparse_categorical_crossentropy", ["accuracy"]
    for t, variable in enumerate(built.trainable_variables):
        if len(variable.shape) > 1:
            k = np.arange(np.prod(variable.shape))
            values = np.sin(0.37 * k + 0.1 * t) / np.sqrt(np.prod(variable.shape[:-1]))
            variable.assign(values.reshape(variable.shape).astype(np.float32))
    return built, loss, metrics


def optimizer(about: Any) -> Any:
    options = {k: v for k, v in about.items() if k not in ("name", "legacy")}
    module = keras.optimizers.legacy if about.get("legacy") else keras.optimizers
    return getattr(module, about["name"])(**options)
