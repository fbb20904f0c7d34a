"""Real buckets: the servers of tests/servers, and the proxy that spoils what goes to them."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests"))
object_stores: Any = importlib.import_module("servers.object_stores")

Json = dict[str, Any]


@contextlib.contextmanager
def started(kind: str, **options: Any) -> Iterator[Any]:
    """A server of object_stores with an empty bucket; without one the test is skipped."""
    try:
        with object_stores.started(kind, **options) as server:
            yield server
    except object_stores.NotInstalled as missing:
        pytest.skip(str(missing))


def s3(server: Any, **more: Any) -> Json:
    """The `checkpoint_storage` of a server of S3. Each prefix is a storage of its own."""
    return {
        "type": "s3",
        "bucket": server.bucket,
        "endpoint_url": server.endpoint,
        "access_key": server.access_key,
        "secret_key": server.secret_key,
        **more,
    }


def storage_in(server: Any, prefix: str) -> Json:
    """The `checkpoint_storage` of a server of any kind."""
    if isinstance(server, object_stores.FakeGcs):
        emulator = {"endpoint_url": server.endpoint, "anonymous": True}
        return {"type": "gcs", "bucket": server.bucket, "prefix": prefix, **emulator}
    if isinstance(server, object_stores.Azurite):
        account = f"AccountName={server.account};AccountKey={server.key}"
        connection = f"{account};BlobEndpoint={server.endpoint};DefaultEndpointsProtocol=http"
        container = f"{server.bucket}/{prefix}"
        return {"type": "azure", "container": container, "connection_string": connection}
    return s3(server, prefix=prefix)


def keys(server: Any, prefix: str, bucket: str | None = None) -> list[str]:
    """Of a page of objects."""
    name = bucket or server.bucket
    query = urllib.parse.urlencode({"prefix": prefix})
    if isinstance(server, object_stores.FakeGcs):
        listed = json.loads(_read(server, f"/storage/v1/b/{name}/o?{query}"))
        return [item["name"] for item in listed.get("items", [])]
    if isinstance(server, object_stores.Azurite):
        return _named("Name", _read(server, f"/{name}?restype=container&comp=list&{query}"))
    return _named("Key", _read(server, f"/{name}?list-type=2&{query}"))


def uploads(server: Any) -> list[str]:
    """The keys of what was begun in parts and is not complete."""
    if isinstance(server, object_stores.FakeGcs):
        return [key for key in keys(server, "") if "/.detcore-parts/" in key]
    if isinstance(server, object_stores.Azurite):
        listing = f"/{server.bucket}?restype=container&comp=list&include=uncommittedblobs"
        return list(set(_named("Name", _read(server, listing))) - set(keys(server, "")))
    return _named("Key", _read(server, f"/{server.bucket}?uploads="))


def _read(server: Any, path: str) -> str:
    status, _, body = server.send("GET", path)
    assert status == 200, body
    text: str = body.decode()
    return text


def _named(name: str, text: str) -> list[str]:
    return re.findall(f"<{name}>(.*?)</{name}>", text)


class Proxy:
    """Before a server of S3, with the rules of servers/store_rules.py."""

    def __init__(self, server: Any) -> None:
        command = [sys.executable, str(ROOT / "tests/servers"), "store_proxy"]
        self._process = subprocess.Popen(
            [*command, "--to", str(server.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        port, self._control = self._process.stdout.readline().split()
        self.endpoint = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def set(self, *rules: Json) -> None:
        self._ask("/test/rules", json.dumps(rules).encode())

    def log(self) -> list[Json]:
        found: list[Json] = json.loads(self._ask("/test/log"))["log"]
        return found

    def _ask(self, path: str, body: bytes | None = None) -> bytes:
        url = f"http://127.0.0.1:{self._control}{path}"
        with urllib.request.urlopen(url, body) as answer:
            found: bytes = answer.read()
            return found
