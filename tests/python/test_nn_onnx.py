"""What the layers engine writes as ONNX predicts in onnxruntime what it predicts itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import detnn
import numpy as np
import pytest
from numpy.typing import NDArray

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ACTIVATIONS = [
    "linear",
    "relu",
    "sigmoid",
    "tanh",
    "elu",
    "selu",
    "softplus",
    "softsign",
    "exponential",
    "hard_sigmoid",
    "swish",
    "gelu",
    "softmax",
]


def layer(class_name: str, **config: Any) -> dict[str, Any]:
    return {"class_name": class_name, "config": config}


def sequential(*layers: dict[str, Any]) -> str:
    return json.dumps({"class_name": "Sequential", "config": {"name": "served", "layers": layers}})


def check(described: str, tmp_path: Path, *inputs: NDArray[Any]) -> None:
    model = detnn.Model(described)
    model.write_onnx(tmp_path / "served.onnx")
    session = runtime.InferenceSession(
        str(tmp_path / "served.onnx"), providers=["CPUExecutionProvider"]
    )
    names = [one.name for one in session.get_inputs()]
    for records in (1, len(inputs[0])):
        given = [one[:records].copy() for one in inputs]
        expected, results = model.predict(*given), session.run(None, dict(zip(names, given)))
        assert len(results) == len(expected)
        for ours, theirs in zip(expected, results):
            np.testing.assert_allclose(theirs, ours, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_dense_layers_and_activations(activation: str, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(5, 2, 3)).astype(np.float32)
    described = sequential(
        layer("Rescaling", scale=0.5, offset=-0.25, batch_input_shape=[None, 2, 3]),
        layer("Flatten"),
        layer("Dense", units=8, activation=activation),
        layer("Reshape", target_shape=[4, 2]),
        layer("Dense", units=3, use_bias=False),
    )
    check(described, tmp_path, x)


def test_several_inputs(tmp_path: Path) -> None:
    def called(class_name: str, name: str, *on: str, **config: Any) -> dict[str, Any]:
        inbound = [[[one, 0, 0, {}] for one in on]] if on else []
        return {
            "class_name": class_name,
            "name": name,
            "config": {"name": name, **config},
            "inbound_nodes": inbound,
        }

    merged = ("Add", "Multiply", "Maximum", "Minimum", "Subtract")
    layers = [called("InputLayer", one, batch_input_shape=[None, 3]) for one in "ab"]
    layers += [called(one, one.lower(), "a", "b") for one in merged]
    config = {
        "name": "several",
        "layers": layers,
        "input_layers": [["a", 0, 0], ["b", 0, 0]],
        "output_layers": [[one.lower(), 0, 0] for one in merged],
    }
    x = np.random.default_rng(2).normal(size=(2, 4, 3)).astype(np.float32)
    check(
        json.dumps({"class_name": "Functional", "config": config}),
        tmp_path,
        x[0].copy(),
        x[1].copy(),
    )
