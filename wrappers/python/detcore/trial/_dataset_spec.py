"""What the elements of a tf.data.Dataset look like, as JSON."""

from __future__ import annotations

from typing import Any

from detcore.trial._tensorflow import tf


def encode_spec(spec: Any) -> dict[str, Any]:
    """Of tuples and dicts of tensors, ragged and sparse ones among them. TypeError: others."""
    if isinstance(spec, tuple):
        return {"tuple": [encode_spec(one) for one in spec]}
    if isinstance(spec, dict) and all(isinstance(name, str) for name in spec):
        return {"dict": {name: encode_spec(one) for name, one in spec.items()}}
    kinds = {tf.TensorSpec: "tensor", tf.RaggedTensorSpec: "ragged", tf.SparseTensorSpec: "sparse"}
    kind = kinds.get(type(spec))
    if kind is None:
        raise TypeError(
            f"elements of a cached dataset are tuples and dicts of tensors, not {spec!r}"
        )
    shape = None if spec.shape.rank is None else spec.shape.as_list()
    about: dict[str, Any] = {kind: shape, "dtype": spec.dtype.name}
    if kind == "ragged":
        about["ranks"] = spec.ragged_rank
        about["splits"] = spec.row_splits_dtype.name
    return about


def decode_spec(about: dict[str, Any]) -> Any:
    if "tuple" in about:
        return tuple(decode_spec(one) for one in about["tuple"])
    if "dict" in about:
        return {name: decode_spec(one) for name, one in about["dict"].items()}
    dtype = tf.as_dtype(about["dtype"])
    if "ragged" in about:
        splits = tf.as_dtype(about["splits"])
        return tf.RaggedTensorSpec(about["ragged"], dtype, about["ranks"], splits)
    if "sparse" in about:
        return tf.SparseTensorSpec(about["sparse"], dtype)
    return tf.TensorSpec(about["tensor"], dtype)
