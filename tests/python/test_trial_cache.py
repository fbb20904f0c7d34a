"""Data sets kept in files: NumPy arrays, written and read where they stand."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from detcore._trial_cache import CachedDataset, DatasetWriter, open_dataset


def write(root: Path, count: int, version: str = "1") -> CachedDataset:
    writer = open_dataset(root, "ramp", version)
    assert isinstance(writer, DatasetWriter)
    rows = numpy.arange(count, dtype=numpy.int64)
    writer.add(rows.view(numpy.uint8), numpy.full(count, 8, dtype=numpy.uint64))
    writer.commit("int64")
    writer.close()
    dataset = open_dataset(root, "ramp", version)
    assert isinstance(dataset, CachedDataset)
    return dataset


def test_rows_come_back_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    dataset = write(tmp_path, 10)
    assert (len(dataset), dataset.metadata, dataset.largest) == (10, "int64", 8)
    reader = dataset.reader(shard=1, shards=3, shuffle=1, seed=5, drop_remainder=1)
    assert len(reader) == 3
    buffer, sizes = numpy.empty(16, numpy.uint8), numpy.empty(9, numpy.uint64)
    rows = []
    while count := reader.next(buffer, sizes):
        rows.extend(buffer.view(numpy.int64)[:count].tolist())
    assert rows == [1, 4, 7]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    writer = open_dataset(tmp_path, "a", "1")
    assert isinstance(writer, DatasetWriter)
    with pytest.raises(ValueError, match="records of 3 bytes"):
        writer.add(b"ab", numpy.array([3], numpy.uint64))
    with pytest.raises(TypeError, match="U64"):
        writer.add(b"ab", numpy.array([2], numpy.int32))
    with pytest.raises(TimeoutError, match="another process"):
        open_dataset(tmp_path, "a", "1", timeout=0)
    writer.close()
    with pytest.raises(ValueError, match="empty"):
        open_dataset(tmp_path, "", "1")
    reader = write(tmp_path, 2).reader()
    with pytest.raises(ValueError, match="largest record has 8"):
        reader.next(numpy.empty(7, numpy.uint8), numpy.empty(1, numpy.uint64))


def test_who_waits_takes_over_from_a_writer_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, detcore._trial_cache as cache\n"
        f"writer = cache.open_dataset({str(tmp_path)!r}, 'ramp', '1')\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGKILL)
        assert len(write(tmp_path, 3)) == 3
