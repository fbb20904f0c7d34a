"""Converts elements of tf.data to records of bytes, many at a time.

Rows of numbers stay as they are in memory. TensorFlow serializes anything else.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from detcore.errors import InvalidArgumentError
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from detcore._trial_cache import CachedDataset, DatasetReader, DatasetWriter

#: The bytes that are read or written at once if records are small.
_BLOCK_BYTES = 1 << 20
_BLOCK_RECORDS = 4096


def write_records(writer: DatasetWriter, make: Callable[[], Any]) -> None:
    """Writes all elements of the tf.data.Dataset that `make` returns."""
    if tf.executing_eagerly():
        _write(writer, make(), lambda blocks: blocks.as_numpy_iterator())
    else:  # inside an input_fn, whose graph is TensorFlow's
        with tf.Graph().as_default():
            _write(writer, make(), _in_session)


def _write(writer: DatasetWriter, dataset: Any, iterate: Callable[[Any], Iterator[Any]]) -> None:
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            f"a function whose dataset is cached must return a tf.data.Dataset, not a "
            f"{type(dataset).__name__}"
        )
    if _value(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
        raise InvalidArgumentError(
            "a cached dataset is stored whole, and this one has no end; repeat what the "
            "decorated function returns, not what is in it"
        )
    spec = dataset.element_spec
    row = _row(spec)
    blocks = dataset.batch(_per_block(row.itemsize)) if row else _serialized(dataset).batch(64)
    for block in iterate(blocks):
        parts = tf.nest.flatten(block)
        count = len(parts[0])
        if row is not None:
            sizes = np.full(count, row.itemsize, np.uint64)
            bytes_of = [np.ascontiguousarray(p).reshape(count, -1).view(np.uint8) for p in parts]
            records: Any = np.concatenate(bytes_of, axis=1).reshape(-1)
        else:
            sizes = np.array([len(record) for record in parts[0]], np.uint64)
            records = b"".join(parts[0])
        writer.add(records, sizes)
    writer.commit(json.dumps({"rows": row is not None, "spec": _encode_spec(spec)}))


def _value(number: Any) -> int:
    if tf.executing_eagerly():
        return int(number)
    with tf.compat.v1.Session() as session:
        return int(session.run(number))


def _in_session(blocks: Any) -> Iterator[Any]:
    iterator = tf.compat.v1.data.make_initializable_iterator(blocks)
    block = iterator.get_next()
    with tf.compat.v1.Session() as session:
        session.run([tf.compat.v1.tables_initializer(), iterator.initializer])
        while True:
            try:
                yield session.run(block)
            except tf.errors.OutOfRangeError:
                return


def read_records(dataset: CachedDataset, reader: Callable[[], DatasetReader]) -> Any:
    """Returns a tf.data.Dataset. Each of its iterators goes through one epoch of a new reader."""
    about = json.loads(dataset.metadata)
    spec = _decode_spec(about["spec"])
    row = _row(spec) if about["rows"] else None
    if row is None:
        largest = max(dataset.largest, 1)
        blocks = tf.data.Dataset.from_generator(
            lambda: _texts(reader(), largest),
            output_signature=tf.TensorSpec([None], tf.string),
        )
        return blocks.prefetch(1).unbatch().map(lambda record: _parsed(record, spec))
    signature = tf.nest.map_structure(
        lambda one: tf.TensorSpec([None, *one.shape], one.dtype), spec
    )
    blocks = tf.data.Dataset.from_generator(
        lambda: _rows(reader(), row, spec), output_signature=signature
    )
    return blocks.prefetch(1).unbatch()


def _rows(reader: DatasetReader, row: np.dtype[Any], spec: Any) -> Iterator[Any]:
    sizes = np.empty(_per_block(row.itemsize), np.uint64)
    block = np.empty(len(sizes), row)
    while count := reader.next(block.view(np.uint8), sizes):
        # These are copies, which TensorFlow may keep.
        parts = [block[name][:count].copy() for name in row.names or ()]
        yield tf.nest.pack_sequence_as(spec, parts)


def _texts(reader: DatasetReader, largest: int) -> Iterator[list[bytes]]:
    buffer = np.empty(max(largest, _BLOCK_BYTES), np.uint8)
    sizes = np.empty(_BLOCK_RECORDS, np.uint64)
    while count := reader.next(buffer, sizes):
        ends = np.cumsum(sizes[:count]).tolist()
        yield [buffer[a:b].tobytes() for a, b in zip([0, *ends[:-1]], ends)]


def _per_block(size: int) -> int:
    return max(1, min(_BLOCK_RECORDS, _BLOCK_BYTES // size))


def _row(spec: Any) -> np.dtype[Any] | None:
    """Returns a record as a NumPy structure. None if elements differ in size or are not numbers."""
    flat = tf.nest.flatten(spec)
    if not all(isinstance(one, tf.TensorSpec) and one.shape.is_fully_defined() for one in flat):
        return None
    if not all(one.dtype.is_bool or one.dtype.is_numeric for one in flat):
        return None
    if any(one.dtype.is_quantized for one in flat):
        return None
    fields = [
        (f"f{i}", one.dtype.as_numpy_dtype, tuple(one.shape.as_list()))
        for i, one in enumerate(flat)
    ]
    row = np.dtype(fields)
    return row if row.itemsize else None


def _serialized(dataset: Any) -> Any:
    def serialize(*element: Any) -> Any:
        parts = tf.nest.flatten(element, expand_composites=True)
        return tf.io.serialize_tensor(tf.stack([tf.io.serialize_tensor(part) for part in parts]))

    return dataset.map(serialize)


def _parsed(record: Any, spec: Any) -> Any:
    flat = tf.nest.flatten(spec, expand_composites=True)
    texts = tf.ensure_shape(tf.io.parse_tensor(record, tf.string), [len(flat)])
    parts = [
        tf.ensure_shape(tf.io.parse_tensor(texts[i], one.dtype), one.shape)
        for i, one in enumerate(flat)
    ]
    return tf.nest.pack_sequence_as(spec, parts, expand_composites=True)


def _encode_spec(spec: Any) -> dict[str, Any]:
    """Describes the elements of a tf.data.Dataset as JSON.

    They are tuples and dicts of tensors, also ragged and sparse ones. TypeError for others.
    """
    if isinstance(spec, tuple):
        return {"tuple": [_encode_spec(one) for one in spec]}
    if isinstance(spec, dict) and all(isinstance(name, str) for name in spec):
        return {"dict": {name: _encode_spec(one) for name, one in spec.items()}}
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


def _decode_spec(about: dict[str, Any]) -> Any:
    if "tuple" in about:
        return tuple(_decode_spec(one) for one in about["tuple"])
    if "dict" in about:
        return {name: _decode_spec(one) for name, one in about["dict"].items()}
    dtype = tf.as_dtype(about["dtype"])
    if "ragged" in about:
        splits = tf.as_dtype(about["splits"])
        return tf.RaggedTensorSpec(about["ragged"], dtype, about["ranks"], splits)
    if "sparse" in about:
        return tf.SparseTensorSpec(about["sparse"], dtype)
    return tf.TensorSpec(about["tensor"], dtype)
