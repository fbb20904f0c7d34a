"""The trials of the recorded runs in tests/data/trials/estimator: models and data by formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from detcore.estimator import MetricReducer
from detcore.trial._tensorflow import tf

v1: Any = tf.compat.v1


def rows(about: dict[str, Any]) -> tuple[Any, Any]:
    if about["set"] == "xor":
        x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
        return x, np.array([[0], [1], [1], [0]], np.int32)
    x = np.arange(about["n"], dtype=np.float32).reshape(-1, 1)
    return x, x


def data(about: dict[str, Any], context: Any) -> Any:
    x, y = rows(about)
    form, batch = about.get("form", "dataset"), context.get_per_slot_batch_size()
    if form == "tensors":
        return {"x": tf.constant(x)}, tf.constant(y)
    dataset = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
    if form == "dataset":
        dataset = context.wrap_dataset(dataset)
    dataset = dataset.batch(batch)
    return context.wrap_dataset(dataset) if form == "wrap_after_batch" else dataset


def dnn(kind: str, context: Any, config: Any) -> Any:
    optimizer: Any = "SGD"
    if kind != "dnn_string":
        optimizers = tf.keras.optimizers
        optimizer = (optimizers if kind == "dnn_tf2opt" else optimizers.legacy).SGD(0.5)
    return tf.estimator.DNNClassifier(
        hidden_units=[4],
        feature_columns=[tf.feature_column.numeric_column("x", shape=(2,))],
        optimizer=context.wrap_optimizer(optimizer),
        activation_fn=tf.nn.sigmoid,
        config=config,
    )


def linear_loss(features: Any, labels: Any) -> tuple[Any, Any, Any]:
    """And the weight, and the prediction."""
    weight = v1.get_variable("w", [1, 1], initializer=v1.zeros_initializer())
    prediction = tf.matmul(features["x"], weight)
    loss = None if labels is None else tf.reduce_mean(tf.square(prediction - labels))
    return loss, weight, prediction


def summarise(kinds: list[str], weight: Any, loss: Any) -> None:
    write = {
        "scalar": lambda: v1.summary.scalar("w_value", weight[0, 0]),
        "hist": lambda: v1.summary.histogram("hist", weight),
        "tensor": lambda: v1.summary.tensor_summary("tensor", weight),
        "text": lambda: v1.summary.text("text", tf.constant("text")),
        "loss": lambda: v1.summary.scalar("loss", loss),
        "loss_1": lambda: v1.summary.scalar("loss_1", loss),
    }
    for kind in kinds:
        write[kind]()


def optimizer(about: dict[str, Any]) -> Any:
    kind = v1.train.AdamOptimizer if about.get("optimizer") == "adam" else None
    return (kind or v1.train.GradientDescentOptimizer)(about.get("lr", 0.001))


class Sum(MetricReducer):
    def __init__(self, recorder: Any, name: str) -> None:
        self.recorder, self.name = recorder, name
        self.sum, self.count = 0.0, 0

    def accumulate(self, metric: Any) -> Any:
        shown = {"tuple": list(metric)} if isinstance(metric, tuple) else metric
        self.recorder.add("reducer", self.name, "accumulate", shown)
        self.sum += float(np.sum(_first(metric)))
        self.count += 1
        return self.sum, self.count

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        shown = [list(one) for one in per_slot_metrics]
        self.recorder.add("reducer", self.name, "cross_slot_reduce", shown)
        return sum(total for total, _ in per_slot_metrics)


def _first(metric: Any) -> Any:
    if isinstance(metric, dict):
        return metric["a"]
    return metric[0] if isinstance(metric, tuple) else metric


def reducer(recorder: Any, about: dict[str, Any]) -> Any:
    name, kind = about["name"], about["reducer"]

    def function(batches: list[Any]) -> Any:
        facts = {
            "items": len(batches),
            "types": sorted({type(batch).__name__ for batch in batches}),
            "first": batches[0],
        }
        recorder.add("reducer", name, "function", facts)
        return sum(float(np.sum(_first(batch))) for batch in batches)

    if kind == "class":
        return Sum(recorder, name)
    if kind == "array":
        return lambda batches: np.concatenate(batches).ravel()
    return function


def metric(kind: str, labels: Any, prediction: Any) -> Any:
    return {
        "labels": labels,
        "list": [labels, prediction],
        "tuple": (labels, prediction),
        "dict": {"a": labels, "b": prediction},
        "nested": [[labels]],
        "intkey": {1: labels},
        "dict_nontensor": {"a": 1.0},
        "string": "text",
        "const": 5.0,
        "const_array": np.array([1.0, 2.0]),
    }[kind]
