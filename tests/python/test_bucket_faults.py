"""Buckets that are set up otherwise than usual, or wrongly: what comes of it, and what is said."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from buckets import Json, Proxy, keys, s3, started
from detcore import core, errors
from detcore.storage import Storage

LARGE = 40 << 20  # goes in parts


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        # A key server of its own, for encryption.
        patch.setenv("MINIO_KMS_SECRET_KEY", "a-key:" + "QUJD" * 10 + "QUI=")
        with started("minio") as server:
            yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/small").write_bytes(b"small")
    return tmp_path / "folder"


def certificate(folder: Path) -> tuple[Path, tuple[str, str]]:
    """An authority, and the certificate (with it) and key of a server at 127.0.0.1."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a test")
    openssl("req", *new, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=a server")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    openssl("x509", "-req", "-in", "request.pem", "-out", "server.pem", *signed)
    with open(folder / "server.pem", "a") as chain:
        chain.write((folder / "ca.pem").read_text())
    return folder / "ca.pem", (str(folder / "server.pem"), str(folder / "key.pem"))


def test_tls_of_an_authority_of_ones_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, tls = certificate(tmp_path)
    with started("minio", tls=tls) as server:
        with pytest.raises(errors.Error, match=r"certificate.*ca_bundle"):
            Storage(s3(server)).upload(folder)
        by_name = server.endpoint.replace("127.0.0.1", "localhost")
        with pytest.raises(errors.Error, match=r"certificate|subject name"):
            Storage(s3(server, ca_bundle=str(authority), endpoint_url=by_name)).upload(folder)
        assert not keys(server, "")
        storage_id = Storage(s3(server, ca_bundle=str(authority))).upload(folder)
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority))
        assert Storage(s3(server)).list(storage_id)["small"] == 5
        monkeypatch.delenv("AWS_CA_BUNDLE")
        assert Storage(s3(server, verify=False)).list(storage_id)["small"] == 5


VERSIONED = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
RETAINED = (
    b"<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>"
    b"<DefaultRetention><Mode>COMPLIANCE</Mode><Days>1</Days></DefaultRetention></Rule>"
    b"</ObjectLockConfiguration>"
)


@pytest.mark.parametrize("kind", ["versioned", "locked"])
def test_what_is_deleted_is_gone_where_older_versions_are_kept(
    server: Any, folder: Path, tmp_path: Path, kind: str
) -> None:
    if kind == "versioned":
        server.make_bucket(kind)
        assert server.send("PUT", f"/{kind}?versioning=", VERSIONED)[0] == 200
    else:
        server.make_bucket(kind, {"x-amz-bucket-object-lock-enabled": "true"})
        assert server.send("PUT", f"/{kind}?object-lock=", RETAINED)[0] == 200
    (folder / "large").write_bytes(bytes(LARGE))
    config = s3(server, bucket=kind)
    storage = Storage(config)
    storage_id = storage.upload(folder)
    storage.download(storage_id, tmp_path / "again")
    assert (tmp_path / "again/large").stat().st_size == LARGE
    storage.delete(storage_id)
    with pytest.raises(errors.NotFoundError):
        storage.list(storage_id)
    with core.init(checkpoint_storage=config):
        pass
    assert not keys(server, "", kind)
    assert b"<Key>" + storage_id.encode() in server.send("GET", f"/{kind}?versions=")[2]


def test_storage_class_and_encryption_are_asked_for(server: Any, folder: Path) -> None:
    asked = {"storage_class": "REDUCED_REDUNDANCY", "sse": "aws:kms", "sse_kms_key_id": "a-key"}
    (folder / "large").write_bytes(bytes(LARGE))
    with Proxy(server) as proxy:
        proxy.set()
        storage = Storage(s3(server, endpoint_url=proxy.endpoint, prefix="kind", **asked))
        storage_id = storage.upload(folder)
        assert storage.list(storage_id)["large"] == LARGE
        log = proxy.log()
    begun = [one for one in log if one["target"].endswith("?uploads=")]
    puts = [one for one in log if one["method"] == "PUT" and "partNumber" not in one["target"]]
    parts = [one for one in log if "partNumber" in one["target"]]
    assert begun and puts and parts
    for one in begun + puts:
        headers = one["headers"]
        assert headers["x-amz-storage-class"] == "REDUCED_REDUNDANCY"
        assert headers["x-amz-server-side-encryption"] == "aws:kms"
        assert headers["x-amz-server-side-encryption-aws-kms-key-id"] == "a-key"
    assert not any("x-amz-server-side-encryption" in one["headers"] for one in parts)
    for name in ("small", "large"):
        key = f"/{server.bucket}/kind/{storage_id}/{name}"
        assert server.send("HEAD", key)[1]["x-amz-server-side-encryption"] == "aws:kms"
    with pytest.raises(errors.Error, match="sse_kms_key_id"):
        Storage(s3(server, **{**asked, "sse_kms_key_id": "no-such-key"})).upload(folder)


WRONG: dict[str, tuple[Json, str]] = {
    "bucket": ({"bucket": "no-such-bucket"}, "no-such-bucket.*make the bucket"),
    "name": ({"bucket": "No_Bucket"}, "No_Bucket.*name"),
    "key": ({"access_key": "nobody"}, "check the access key"),
    "secret": ({"secret_key": "wrong-secret"}, "check the secret key"),
    "token": ({"session_token": "no-token"}, "renew the credentials"),
    "class": ({"storage_class": "NO_SUCH"}, "storing 's3://.*InvalidStorageClass"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_without_secrets(
    server: Any, folder: Path, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    changes, message = WRONG[what]
    config = s3(server, **changes)
    storage = Storage(config)
    with pytest.raises(errors.Error, match=message) as raised:
        storage.upload(folder)
    try:
        core.init(checkpoint_storage=config, log_level="DEBUG")
    except errors.Error as error:
        said = str(error)
    else:
        raise AssertionError("it began")
    assert "before training begins" in said and re.search(message, said)
    said += str(raised.value) + capfd.readouterr().err
    assert config["secret_key"] not in said and config.get("session_token", "none") not in said


def test_clock_that_the_store_does_not_believe_is_told(server: Any, folder: Path) -> None:
    with Proxy(server) as proxy:
        proxy.set({"how": "skewed_clock"})
        with pytest.raises(errors.Error, match="set the clock of this machine"):
            Storage(s3(server, endpoint_url=proxy.endpoint)).upload(folder)
        assert len(proxy.log()) < 20


# It makes no more files than these, as on a disk that is full.
FULL = 'mount -t tmpfs -o nr_inodes=150 none buckets && exec "$@"'


def test_full_disk_of_the_server_is_told(folder: Path) -> None:
    for number in range(100):
        (folder / str(number)).write_bytes(b"x")
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL, "sh"]
    if subprocess.run([*inside[:4], "true"]).returncode:
        pytest.skip("this machine has no user namespaces")
    with started("minio", inside=inside) as server:
        storage = Storage(s3(server))
        with pytest.raises(errors.Error, match=r"storing 's3://.*make room in the store"):
            storage.upload(folder)
