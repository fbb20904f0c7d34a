"""Checkpoints in real object stores: what others wrote is read, and what was written others read.

The others are the storage managers of the package this one succeeds, and the makers' own clients.
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT
from detcore import errors
from detcore.storage import Storage

sys.path.insert(0, str(ROOT / "tests"))
object_stores: Any = importlib.import_module("servers.object_stores")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

KINDS = ["minio", "versitygw", "fake_gcs", "azurite"]
FILES = {
    "root.txt": b"root",
    "empty": b"",
    "nested/deep/weights.bin": bytes(range(256)) * 40000,  # 10 MiB: in parts
    "nested/a name with spaces & signs+.txt": "é".encode(),
}


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    try:
        with object_stores.started(request.param) as store:
            store.kind = request.param
            yield store
    except object_stores.NotInstalled as missing:
        pytest.skip(str(missing))


@pytest.fixture
def config(server: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The `checkpoint_storage` of the server, for both."""
    if server.kind == "fake_gcs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.endpoint)
        return {"type": "gcs", "bucket": server.bucket, "prefix": "some/prefix"}
    if server.kind == "azurite":
        return {
            "type": "azure",
            "container": server.bucket,
            "connection_string": "DefaultEndpointsProtocol=http;"
            f"AccountName={server.account};AccountKey={server.key};BlobEndpoint={server.endpoint};",
        }
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return {
        "type": "s3",
        "bucket": server.bucket,
        "prefix": "some/prefix",
        "endpoint_url": server.endpoint,
        "access_key": server.access_key,
        "secret_key": server.secret_key,
    }


def original(config: dict[str, Any]) -> Any:
    from determined.common import storage

    return storage.build(config, None)


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "checkpoint"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "no files").mkdir()
    return folder


def check(folder: pathlib.Path, server: Any) -> None:
    """Compares a folder with FILES; files of the library's own may be there beside them."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert set(found) - {"metadata.json", ".detcore-manifest.json"} == set(FILES)
    assert all(found[name].read_bytes() == data for name, data in FILES.items())
    # The original keeps no empty directories in MinIO, whose older versions had none.
    assert (folder / "no files").is_dir() or server.kind == "minio"


def test_the_original_reads_ours(
    server: Any, config: dict[str, Any], files: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    storage_id = Storage(config).upload(files, {"steps_completed": 1})
    original(config).download(storage_id, tmp_path / "theirs")
    check(tmp_path / "theirs", server)


def test_ours_reads_the_original(
    server: Any, config: dict[str, Any], files: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    storage_id = str(uuid.uuid4())
    original(config).upload(files, storage_id)
    Storage(config).download(storage_id, tmp_path / "ours")
    check(tmp_path / "ours", server)


def test_the_original_deletes_ours(config: dict[str, Any], files: pathlib.Path) -> None:
    storage = Storage(config)
    storage_id = storage.upload(files)
    original(config).delete(storage_id, ["**/*"])
    with pytest.raises(errors.NotFoundError):
        storage.list(storage_id)


def test_ours_deletes_the_original(
    config: dict[str, Any], files: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    from determined import errors as theirs

    storage_id = str(uuid.uuid4())
    original(config).upload(files, storage_id)
    Storage(config).delete(storage_id)
    with pytest.raises(theirs.CheckpointNotFound):
        original(config).download(storage_id, tmp_path / "gone")


def test_the_makers_client_reads_ours(
    server: Any, config: dict[str, Any], files: pathlib.Path
) -> None:
    storage_id = Storage(config).upload(files)
    key = "/".join(filter(None, [config.get("prefix"), storage_id, "nested/deep/weights.bin"]))
    assert read_by_maker(server, config, key) == FILES["nested/deep/weights.bin"]


def read_by_maker(server: Any, config: dict[str, Any], key: str) -> bytes:
    if config["type"] == "gcs":
        import google.cloud.storage

        found = google.cloud.storage.Client().bucket(server.bucket).blob(key).download_as_bytes()
    elif config["type"] == "azure":
        import azure.storage.blob

        service = azure.storage.blob.BlobServiceClient.from_connection_string(
            config["connection_string"]
        )
        found = service.get_blob_client(server.bucket, key).download_blob().readall()
    else:
        import boto3

        client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            aws_access_key_id=server.access_key,
            aws_secret_access_key=server.secret_key,
        )
        found = client.get_object(Bucket=server.bucket, Key=key)["Body"].read()
    return bytes(found)
