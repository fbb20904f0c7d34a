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
    "log_softmax",
    "mish",
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


@pytest.mark.parametrize("largest", [None, 0.75])
@pytest.mark.parametrize("slope", [0, 0.2])
@pytest.mark.parametrize("threshold", [0, 0.5])
def test_relu_with_all_that_it_has(
    largest: float | None, slope: float, threshold: float, tmp_path: Path
) -> None:
    x = np.random.default_rng(7).normal(size=(5, 20)).astype(np.float32)
    options = {"max_value": largest, "negative_slope": slope, "threshold": threshold}
    check(sequential(layer("ReLU", batch_input_shape=[None, 20], **options)), tmp_path, x)


def test_a_softmax_of_several_axes_and_normalizations(tmp_path: Path) -> None:
    x = np.random.default_rng(2).normal(size=(5, 2, 3)).astype(np.float32)
    described = sequential(
        layer("Normalization", mean=[1, 2, 3], variance=0.5, batch_input_shape=[None, 2, 3]),
        layer("Normalization", axis=[1, 2]),
        layer("Normalization", axis=1, invert=True, mean=[1, 2], variance=[3, 0]),
        layer("Softmax", axis=[1, 2]),
        layer("ActivityRegularization", l1=0.1),
        layer("LSTM", units=2, dropout=0.5, recurrent_dropout=0.5),
    )
    check(described, tmp_path, x)


def test_a_convolutional_network(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(3, 9, 8, 4)).astype(np.float32)
    described = sequential(
        layer("ZeroPadding2D", padding=[[1, 0], [0, 2]], batch_input_shape=[None, 9, 8, 4]),
        layer("Conv2D", filters=6, kernel_size=3, strides=2, padding="same", activation="relu"),
        layer("BatchNormalization", gamma_initializer="random_normal", beta_initializer="ones"),
        layer("MaxPooling2D", pool_size=2, strides=1, padding="same"),
        layer("UpSampling2D", size=[2, 3]),
        layer("DepthwiseConv2D", kernel_size=[2, 3], depth_multiplier=2, activation="swish"),
        layer("Conv2D", filters=8, kernel_size=2, groups=4, use_bias=False, dilation_rate=2),
        layer("AveragePooling2D", pool_size=3, padding="same"),
        layer("Cropping2D", cropping=[[1, 0], [0, 1]]),
        layer("Conv2D", filters=5, kernel_size=1, padding="valid", activation="tanh"),
        layer("GlobalAveragePooling2D"),
        layer("Dense", units=3, activation="softmax"),
    )
    check(described, tmp_path, x)


def test_images_made_larger(tmp_path: Path) -> None:
    x = np.random.default_rng(11).normal(size=(3, 5, 4, 3)).astype(np.float32)
    described = sequential(
        layer("RandomFlip", batch_input_shape=[None, 5, 4, 3]),
        layer("RandomRotation", factor=0.2),
        layer("RandomZoom", height_factor=[-0.3, 0.1]),
        layer("Rescaling", scale=[0.5, 1, 2], offset=[0, 0.5, -1]),
        layer("SeparableConv2D", filters=4, kernel_size=3, depth_multiplier=2, padding="same"),
        layer("PReLU", shared_axes=[1, 2], alpha_initializer="random_normal"),
        layer("Conv2DTranspose", filters=3, kernel_size=3, strides=2, padding="same"),
        layer("PReLU", alpha_initializer="random_normal"),
        layer("AlphaDropout", rate=0.3),
        layer("Conv2DTranspose", filters=2, kernel_size=2, strides=[1, 3], activation="tanh"),
        layer("Dropout", rate=0.4, noise_shape=[None, 1, 1, 1]),
        layer("UpSampling2D", size=[3, 2], interpolation="bilinear"),
    )
    check(described, tmp_path, x)


@pytest.mark.parametrize(
    "class_name", ["Conv1D", "DepthwiseConv1D", "SeparableConv1D", "Conv1DTranspose"]
)
def test_sequences_of_convolutions(class_name: str, tmp_path: Path) -> None:
    x = np.random.default_rng(4).normal(size=(3, 12, 4)).astype(np.float32)
    options = {} if class_name == "DepthwiseConv1D" else {"filters": 5}
    described = sequential(
        layer("Permute", dims=[2, 1], batch_input_shape=[None, 12, 4]),
        layer("Permute", dims=[2, 1]),
        layer(
            class_name,
            kernel_size=3,
            padding="causal" if class_name == "Conv1D" else "same",
            **options,
        ),
        layer("BatchNormalization", axis=1, center=False, moving_variance_initializer="ones"),
        layer("LayerNormalization", gamma_initializer="random_normal"),
        layer("MaxPooling1D", pool_size=2),
        layer("TimeDistributed", layer=layer("Dense", units=3, activation="elu")),
        layer("GlobalMaxPooling1D"),
        layer("RepeatVector", n=2),
    )
    check(described, tmp_path, x)


@pytest.mark.parametrize(
    "recurrent",
    [
        layer("LSTM", units=5, return_sequences=True, bias_initializer="random_normal"),
        layer("LSTM", units=5, use_bias=False, recurrent_activation="hard_sigmoid"),
        layer("LSTM", units=5, go_backwards=True, return_sequences=True, activation="relu"),
        layer("GRU", units=5, return_sequences=True, bias_initializer="random_normal"),
        layer("GRU", units=5, reset_after=False, bias_initializer="random_normal"),
        layer("GRU", units=5, use_bias=False, go_backwards=True),
        layer("SimpleRNN", units=5, return_sequences=True, activation="softsign"),
        layer("Bidirectional", layer=layer("LSTM", units=4, return_sequences=True)),
        layer("Bidirectional", layer=layer("GRU", units=4), merge_mode="mul"),
    ],
)
def test_recurrent_layers(recurrent: dict[str, Any], tmp_path: Path) -> None:
    ids = np.random.default_rng(5).integers(0, 11, size=(3, 7)).astype(np.int32)
    embedded = layer("Embedding", input_dim=11, output_dim=3, batch_input_shape=[None, 7])
    check(sequential(embedded, recurrent, layer("Dense", units=2)), tmp_path, ids)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
def test_attention(is_causal: bool, has_mask: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"use_causal_mask": is_causal, "value": ["x", 0, 0]}
    inputs: dict[str, list[int | None]] = {"x": [None, 5, 6]}
    if has_mask:
        inputs["mask"] = [None, 5, 5]
        options["attention_mask"] = ["mask", 0, 0]
    layers: list[dict[str, Any]] = [
        {
            "class_name": "InputLayer",
            "name": name,
            "config": {
                "name": name,
                "batch_input_shape": shape,
                "dtype": "float32" if name == "x" else "int32",
            },
            "inbound_nodes": [],
        }
        for name, shape in inputs.items()
    ]
    attention = {"name": "attention", "num_heads": 2, "key_dim": 4, "attention_axes": None}
    attention |= {"dropout": 0.4} if is_causal else {}
    layers.append(
        {
            "class_name": "MultiHeadAttention",
            "name": "attention",
            "config": attention,
            "inbound_nodes": [[["x", 0, 0, options]]],
        }
    )
    config = {
        "name": "attentive",
        "layers": layers,
        "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": [["attention", 0, 0]],
    }
    random = np.random.default_rng(6)
    given: list[NDArray[Any]] = [random.normal(size=(3, 5, 6)).astype(np.float32)]
    if has_mask:
        given.append(random.integers(0, 2, size=(3, 5, 5)).astype(np.int32))
    check(json.dumps({"class_name": "Functional", "config": config}), tmp_path, *given)


def test_sequences_of_open_length(tmp_path: Path) -> None:
    ids = np.random.default_rng(8).integers(0, 11, size=(3, 7)).astype(np.int32)
    described = sequential(
        layer("Embedding", input_dim=11, output_dim=4, batch_input_shape=[None, None]),
        layer("Bidirectional", layer=layer("LSTM", units=3, return_sequences=True)),
        layer("TimeDistributed", layer=layer("Dense", units=4)),
        layer("Conv1D", filters=5, kernel_size=3, strides=2, padding="same", activation="relu"),
        layer("MaxPooling1D", pool_size=2, padding="same"),
        layer("UpSampling1D", size=2),
        layer("Conv1D", filters=4, kernel_size=2, padding="causal"),
        layer("LayerNormalization"),
        layer("GRU", units=3, return_sequences=True),
        layer("GlobalAveragePooling1D"),
        layer("Dense", units=2, activation="softmax"),
    )
    for steps in (4, 5, 7):
        check(described, tmp_path, ids[:, :steps].copy())


def test_images_of_open_size(tmp_path: Path) -> None:
    x = np.random.default_rng(9).normal(size=(2, 11, 9, 3)).astype(np.float32)
    described = sequential(
        layer(
            "Conv2D",
            filters=4,
            kernel_size=3,
            strides=2,
            padding="same",
            batch_input_shape=[None, None, None, 3],
        ),
        layer("BatchNormalization", moving_variance_initializer="ones"),
        layer("AveragePooling2D", pool_size=2, padding="same"),
        layer("UpSampling2D", size=[2, 3]),
        layer("ZeroPadding2D"),
        layer("Conv2D", filters=3, kernel_size=2, activation="tanh"),
        layer("GlobalMaxPooling2D"),
    )
    for height, width in ((11, 9), (8, 8), (5, 9)):
        check(described, tmp_path, x[:, :height, :width].copy())


def test_what_depends_on_an_open_length_is_refused(tmp_path: Path) -> None:
    attention: dict[str, Any] = {
        "class_name": "Functional",
        "config": {
            "name": "open",
            "layers": [
                {
                    "class_name": "InputLayer",
                    "name": "x",
                    "config": {"name": "x", "batch_input_shape": [None, None, 4]},
                    "inbound_nodes": [],
                },
                {
                    "class_name": "MultiHeadAttention",
                    "name": "attention",
                    "config": {"name": "attention", "num_heads": 2, "key_dim": 4},
                    "inbound_nodes": [
                        [["x", 0, 0, {"value": ["x", 0, 0], "use_causal_mask": True}]]
                    ],
                },
            ],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["attention", 0, 0]],
        },
    }
    with pytest.raises(RuntimeError, match="use_causal_mask of sequences of open length"):
        detnn.Model(json.dumps(attention)).write_onnx(tmp_path / "served.onnx")
    attention["config"]["layers"][1]["inbound_nodes"][0][0][3]["use_causal_mask"] = False
    x = np.random.default_rng(10).normal(size=(3, 6, 4)).astype(np.float32)
    for steps in (1, 6):
        check(json.dumps(attention), tmp_path, x[:, :steps].copy())


def test_what_onnx_has_not_is_refused_with_the_layer(tmp_path: Path) -> None:
    described = sequential(
        layer("LSTM", units=2, activation="gelu", name="odd", batch_input_shape=[None, 4, 3])
    )
    with pytest.raises(RuntimeError, match=r"the layer 'odd' \(LSTM\) as ONNX: .* 'gelu'"):
        detnn.Model(described).write_onnx(tmp_path / "served.onnx")
    assert not (tmp_path / "served.onnx").exists()


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
    layers += [
        called("Concatenate", "joined", "a", "b", axis=-1),
        called("Dot", "dot", "a", "b", axes=-1),
    ]
    layers += [called("Average", "average", "a", "b")]
    config = {
        "name": "several",
        "layers": layers,
        "input_layers": [["a", 0, 0], ["b", 0, 0]],
        "output_layers": [
            [one, 0, 0] for one in (*map(str.lower, merged), "joined", "dot", "average")
        ],
    }
    x = np.random.default_rng(2).normal(size=(2, 4, 3)).astype(np.float32)
    check(
        json.dumps({"class_name": "Functional", "config": config}),
        tmp_path,
        x[0].copy(),
        x[1].copy(),
    )
