"""Data sets kept in files: NumPy arrays, written and read where they stand."""

import json
import os
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
from buckets import keys, started, storage_in, uploads
from detcore._trial_cache import CachedDataset, DatasetWriter, open_dataset
from detcore.errors import CorruptError
from detcore.storage import Storage
from experiments import wait_until
from programs import start


def write(
    root: Path, count: int, version: str = "1", bucket: Optional[Storage] = None
) -> CachedDataset:
    writer = open_dataset(root, "ramp", version, bucket=bucket)
    assert isinstance(writer, DatasetWriter)
    return fill(writer, root, count, version, bucket)


def fill(
    writer: DatasetWriter, root: Path, count: int, version: str, bucket: Optional[Storage] = None
) -> CachedDataset:
    rows = numpy.arange(count, dtype=numpy.int64)
    writer.add(rows.view(numpy.uint8), numpy.full(count, 8, dtype=numpy.uint64))
    writer.commit("int64")
    writer.close()
    dataset = open_dataset(root, "ramp", version, bucket=bucket)
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
    with pytest.raises(ValueError, match="the sizes give 3 bytes"):
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


@pytest.fixture(scope="module", params=["minio", "fake_gcs"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with started(request.param) as server:
        server.kind = request.param
        yield server


def remove(server: Any, key: str) -> None:
    if server.kind == "fake_gcs":
        path = f"/storage/v1/b/{server.bucket}/o/{urllib.parse.quote(key, safe='')}"
    else:
        path = f"/{server.bucket}/{key}"
    assert server.send("DELETE", path)[0] in (200, 204)


def store(server: Any, key: str, data: bytes) -> None:
    if server.kind == "fake_gcs":
        named = urllib.parse.quote(key, safe="")
        path = f"/upload/storage/v1/b/{server.bucket}/o?uploadType=media&name={named}"
        assert server.send("POST", path, data)[0] == 200
    else:
        assert server.send("PUT", f"/{server.bucket}/{key}", data)[0] == 200


def test_machines_share_what_is_in_a_bucket(server: Any, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    bucket = Storage(storage_in(server, "shared"))
    write(here, 3, bucket=bucket)
    assert keys(server, "shared/") == ["shared/ramp/1/records.cache"]
    copied = open_dataset(there, "ramp", "1", bucket=bucket)
    assert isinstance(copied, CachedDataset) and len(copied) == 3
    file = "ramp/1/records.cache"
    assert (here / file).read_bytes() == (there / file).read_bytes()
    unchanged = (there / file).stat()
    open_dataset(there, "ramp", "1", bucket=bucket)
    assert (there / file).stat().st_ino == unchanged.st_ino
    (there / file).write_bytes((there / file).read_bytes()[:-1])
    assert isinstance(open_dataset(there, "ramp", "1", bucket=bucket), CachedDataset)
    assert sorted(path.name for path in (there / "ramp/1").iterdir()) == [
        "records.cache",
        "records.lock",
    ]


def test_a_copy_follows_its_bucket(server: Any, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    bucket = Storage(storage_in(server, "followed"))
    write(here, 3, bucket=bucket)
    key = "followed/ramp/1/records.cache"
    remove(server, key)
    write(there, 4, bucket=bucket)
    fresh = open_dataset(here, "ramp", "1", bucket=bucket)
    assert isinstance(fresh, CachedDataset) and len(fresh) == 4
    remove(server, key)
    gone = open_dataset(here, "ramp", "1", bucket=bucket)
    assert isinstance(gone, DatasetWriter)


def test_the_first_of_two_machines_stays(server: Any, tmp_path: Path) -> None:
    bucket = Storage(storage_in(server, "raced"))
    roots = [tmp_path / "one", tmp_path / "two"]
    writers = [open_dataset(root, "ramp", "1", bucket=bucket) for root in roots]
    counts = []
    for count, (root, writer) in enumerate(zip(roots, writers), 3):
        assert isinstance(writer, DatasetWriter)
        counts.append(len(fill(writer, root, count, "1", bucket)))
    assert counts == [3, 3]


def test_a_large_one_goes_in_parts(server: Any, tmp_path: Path) -> None:
    bucket = Storage(storage_in(server, "large"))
    count = (33 << 20) // 8
    write(tmp_path / "here", count, bucket=bucket)
    copied = open_dataset(tmp_path / "there", "ramp", "1", bucket=bucket)
    assert isinstance(copied, CachedDataset)
    buffer, sizes = numpy.empty(8 * count, numpy.uint8), numpy.empty(count, numpy.uint64)
    assert copied.reader().next(buffer, sizes) == count
    assert (buffer.view(numpy.int64) == numpy.arange(count)).all()


WRITE = """
    import json, sys, numpy
    from detcore._trial_cache import open_dataset
    from detcore.storage import Storage

    bucket, count = Storage(json.loads(sys.argv[2])), int(sys.argv[3])
    writer = open_dataset(sys.argv[1], "ramp", "1", bucket=bucket)
    rows = numpy.arange(count, dtype=numpy.int64)
    writer.add(rows.view(numpy.uint8), numpy.full(count, 8, dtype=numpy.uint64))
    writer.commit("int64")
"""


def test_nobody_reads_half_of_one_whose_writer_was_killed(server: Any, tmp_path: Path) -> None:
    config = storage_in(server, "killed")
    count = (96 << 20) // 8
    with start(WRITE, str(tmp_path / "here"), json.dumps(config), str(count)) as process:
        wait_until(lambda: uploads(server) or process.poll() is not None, "a part of an upload")
        assert process.poll() is None, process.communicate()
        process.kill()
    assert "killed/ramp/1/records.cache" not in keys(server, "killed/")
    for machine in ("here", "there"):
        opened = open_dataset(tmp_path / machine, "ramp", "1", bucket=Storage(config))
        assert isinstance(opened, DatasetWriter)
        opened.close()
    assert len(write(tmp_path / "here", 3, bucket=Storage(config))) == 3
    assert uploads(server) == []  # what the killed one had sent
    read = open_dataset(tmp_path / "there", "ramp", "1", bucket=Storage(config))
    assert isinstance(read, CachedDataset) and len(read) == 3


def test_what_is_no_dataset_in_a_bucket_is_named(server: Any, tmp_path: Path) -> None:
    bucket = Storage(storage_in(server, "damaged"))
    write(tmp_path / "here", 3, bucket=bucket)
    key = "damaged/ramp/1/records.cache"
    whole = (tmp_path / "here/ramp/1/records.cache").read_bytes()
    store(server, key, whole + b"more")
    scheme = "gs" if server.kind == "fake_gcs" else "s3"
    named = f"{scheme}://{server.bucket}/{key}"
    with pytest.raises(CorruptError, match=named):
        open_dataset(tmp_path / "there", "ramp", "1", bucket=bucket)
    assert [path.name for path in (tmp_path / "there/ramp/1").iterdir()] == ["records.lock"]


def test_a_directory_is_no_bucket(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no bucket"):
        open_dataset(tmp_path, "ramp", "1", bucket=Storage(tmp_path))
