"""Checkpoints from memory: arrays of Python's packages, and files that its safetensors knows."""

from __future__ import annotations

import array
import json
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import safetensors
import safetensors.numpy
from detcore import core, errors
from detcore.core import Progress, TensorPart

STEPS = {"steps_completed": 3}
DTYPES = (
    *("bool", "uint8", "int8", "int16", "uint16", "float16", "int32"),
    *("uint32", "float32", "complex64", "float64", "int64", "uint64"),
)


@pytest.fixture
def context() -> Iterator[core.Context]:
    with core.init() as context:
        yield context


def some(dtype: str, *shape: int) -> numpy.ndarray[Any, Any]:
    count = int(numpy.prod(shape))
    return (numpy.arange(count) % 3).astype(dtype).reshape(shape)


def save(context: core.Context, tensors: dict[str, Any], **options: Any) -> str:
    with context.checkpoint.store(STEPS) as store:
        store.write_tensors(tensors, **options)
    return store.storage_id


def test_safetensors_reads_what_we_write(context: core.Context) -> None:
    given = {
        f"{dtype} {shape}": some(dtype, *shape)
        for dtype in DTYPES
        for shape in [(2, 3), (), (0, 4)]
    }
    storage_id = save(context, given, metadata={"note": "é"})
    with context.checkpoint.restore(storage_id) as restore:
        path = restore.path / "model.safetensors"
        read = safetensors.numpy.load_file(path)
        assert read.keys() == given.keys()
        for name, expected in given.items():
            assert read[name].dtype == expected.dtype
            numpy.testing.assert_array_equal(read[name], expected)
        with safetensors.safe_open(path, "numpy") as file:
            assert file.metadata() == {"note": "é"}
            part = file.get_slice("int32 (2, 3)")[:, 1:]
            numpy.testing.assert_array_equal(part, given["int32 (2, 3)"][:, 1:])


def test_we_read_what_safetensors_writes(tmp_path: pathlib.Path) -> None:
    given = {
        f"{dtype} {shape}": some(dtype, *shape)
        for dtype in DTYPES
        for shape in [(2, 3), (), (0, 4)]
    }
    path = tmp_path / "theirs.safetensors"
    safetensors.numpy.save_file(given, path, {"note": "é"})
    with core.open_tensors(path) as tensors:
        assert sorted(tensors) == sorted(given) and len(tensors) == len(given)
        assert tensors.metadata == {"note": "é"}
        assert tensors.dtype("bool (2, 3)") == "BOOL" and "nothing" not in tensors
        for name, expected in given.items():
            assert tensors.shape(name) == expected.shape
            assert tensors.nbytes(name) == expected.nbytes
            read = tensors.numpy(name)
            assert read.dtype == expected.dtype
            numpy.testing.assert_array_equal(read, expected)


def test_state_is_saved_and_loaded(context: core.Context) -> None:
    weights, step = some("float32", 2, 3), array.array("q", [42])
    back, counted = numpy.zeros((2, 3), "float32"), array.array("q", [0])
    state = {"weights": back, "step": counted}
    assert context.checkpoint.load_state(state) == 0  # nothing to begin with
    storage_id = context.checkpoint.save_state(7, {"weights": weights, "step": step})
    assert context.checkpoint.load_state(state, storage_id) == 7
    assert (back == weights).all() and counted == step
    with pytest.raises(errors.InvalidArgumentError, match="weights"):
        context.checkpoint.load_state({"weights": numpy.zeros(5, "float32")}, storage_id)
    with pytest.raises(errors.NotFoundError, match="other"):
        context.checkpoint.load_state({"other": back}, storage_id)
    with pytest.raises(TypeError, match="dict"):
        context.checkpoint.save_state(8, [weights])  # type: ignore[arg-type]


def test_an_index_of_hugging_face_is_read(tmp_path: pathlib.Path) -> None:
    for file, name in [("model-00001-of-00002", "a"), ("model-00002-of-00002", "b")]:
        safetensors.numpy.save_file({name: some("float32", 2)}, tmp_path / f"{file}.safetensors")
    index = {
        "weight_map": {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors",
        }
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with core.open_tensors(tmp_path / "model.safetensors") as tensors:
        assert list(tensors) == ["a", "b"]
        numpy.testing.assert_array_equal(tensors.numpy("b"), some("float32", 2))


def test_parts_are_read_into_arrays(context: core.Context) -> None:
    matrix = some("float32", 4, 5)
    storage_id = save(context, {"m": matrix, "b": b"bytes"})
    with context.checkpoint.restore(storage_id) as restore, restore.tensors() as tensors:
        numpy.testing.assert_array_equal(tensors.numpy("m", (1, 2), (2, 3)), matrix[1:3, 2:])
        numpy.testing.assert_array_equal(tensors.numpy("m", (3, 0)), matrix[3:])
        whole, row, raw = numpy.zeros_like(matrix), array.array("f", [0] * 5), bytearray(5)
        row_of_two = memoryview(row).cast("B").cast("f", (1, 5))
        seen: list[Progress] = []
        tensors.read_into({"m": whole, "b": raw}, progress=seen.append)
        tensors.read_into({"m": TensorPart(row_of_two, (2, 0), (4, 5))})
        numpy.testing.assert_array_equal(whole, matrix)
        assert list(row) == list(matrix[2]) and raw == b"bytes"
        assert seen[-1].bytes == seen[-1].total_bytes == matrix.nbytes + 5


def test_arrays_with_gaps_are_written_but_not_read_into(context: core.Context) -> None:
    matrix = some("int64", 6, 4)
    given = {"columns": matrix[:, ::2], "turned": matrix.T}
    storage_id = save(context, given)
    with context.checkpoint.restore(storage_id) as restore, restore.tensors() as tensors:
        for name, expected in given.items():
            numpy.testing.assert_array_equal(tensors.numpy(name), expected)
        with pytest.raises(ValueError, match="'columns': it is not row-major without gaps"):
            tensors.read_into({"columns": matrix[:, ::2]})


def test_what_is_no_array_is_refused(context: core.Context) -> None:
    with context.checkpoint.store(STEPS) as store:
        for wrong, words in [
            (3, "a int is no array"),
            (numpy.array(["x"]), "elements of"),
            (numpy.zeros(2, "longdouble"), "elements of float128"),
        ]:
            with pytest.raises(TypeError, match=words):
                store.write_tensors({"x": wrong})
        with pytest.raises(ValueError, match="order of other machines"):
            store.write_tensors({"x": numpy.zeros(2, ">f4")})
        with pytest.raises(ValueError, match="its offset has 1 dimensions, and the array 2"):
            store.write_tensors({"x": TensorPart(some("uint8", 2, 2), (0,))})
        with pytest.raises(errors.InvalidArgumentError, match="begin the checkpoint with `shard`"):
            store.write_tensors({"x": TensorPart(some("uint8", 2), (0,), (4,))})
        with pytest.raises(errors.InvalidArgumentError, match="no tensor can have that name"):
            store.write_tensors({"": some("uint8", 2)})
        store.write_tensors({"x": some("uint8", 2)})
    with context.checkpoint.restore(store.storage_id) as restore, restore.tensors() as tensors:
        read_only = some("uint8", 2)
        read_only.flags.writeable = False
        for wrong in [read_only, b"ab"]:
            with pytest.raises(ValueError, match="the array to read into is read-only"):
                tensors.read_into({"x": wrong})
        with pytest.raises(errors.NotFoundError, match="tensor 'y'"):
            tensors.read_into({"y": some("uint8", 2)})
        with pytest.raises(errors.InvalidArgumentError, match=r"as I8 \[2\]: .* it is U8 \[2\]"):
            tensors.read_into({"x": some("int8", 2)})


def test_what_progress_raises_ends_the_write(context: core.Context, store: pathlib.Path) -> None:
    class Enough(Exception):
        pass

    def progress(now: Progress) -> None:
        raise Enough

    with pytest.raises(Enough), context.checkpoint.store(STEPS, progress=progress) as writer:
        writer.write_tensors({"x": some("uint8", 1 << 20)})
    assert context.checkpoint.list() == []


KILLED = """
import array, os, signal
from detcore import core
with core.init() as context:
    with context.checkpoint.store({"steps_completed": 1}) as store:
        store.write_tensors({"x": array.array("d", [1.0])})
        print(store.path, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_that_is_killed_leaves_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    path = pathlib.Path(done.stdout.strip())
    assert done.returncode == -signal.SIGKILL and (path / "model.safetensors").exists()
    storage_id = save_once()
    assert not path.exists()  # the next start has removed it
    assert [entry.name for entry in path.parent.glob("[!.]*")] == []
    assert (path.parents[1] / storage_id / "model.safetensors").exists()


def save_once() -> str:
    with core.init() as context:
        return save(context, {"x": some("float32", 2)})


def test_tensors_of_pytorch(context: core.Context) -> None:
    torch = pytest.importorskip("torch", exc_type=ImportError)
    given = {
        "bf16": torch.arange(6).to(torch.bfloat16).reshape(2, 3),
        "turned": torch.arange(6.0).reshape(2, 3).T,
        "weight": torch.nn.Parameter(torch.ones(2)),
        "step": torch.tensor(7),
        "conjugated": torch.tensor([1 + 2j], dtype=torch.complex64).conj(),
    }
    with context.checkpoint.restore(save(context, given)) as restore:
        with safetensors.safe_open(restore.path / "model.safetensors", "pt") as file:
            assert file.metadata() == {"format": "pt"}
        with restore.tensors() as tensors:
            for name, expected in given.items():
                read = tensors.torch(name)
                assert read.dtype == expected.dtype and torch.equal(read, expected.detach())
            part = tensors.torch("bf16", (0, 1), (2, 1))
            assert torch.equal(part, given["bf16"][:, 1:2])
            with pytest.raises(TypeError, match="on meta has no memory"):
                tensors.read_into({"step": torch.tensor(7, device="meta")})
