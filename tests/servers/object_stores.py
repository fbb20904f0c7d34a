"""The real object stores that tests talk to, as scripts/object_servers.sh installs them:

  object_stores KIND... [--tls CERTIFICATE KEY] [-- COMMAND...]

KIND is minio, versitygw, fake_gcs or azurite. Each starts on a free port of its own, with no data but an empty
bucket. COMMAND finds them in its environment: see environment() of each class. Without COMMAND this prints their
ports and ends with its standard input. Where one is not installed the test is skipped.

From Python: `with started("minio") as store: store.endpoint, store.access_key, store.bucket`.
"""

import argparse
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from patience import PATIENCE

from . import http2, object_requests

ROOT = pathlib.Path(__file__).resolve().parents[2]

class NotInstalled(Exception):
    pass


def installed(name):
    path = pathlib.Path(os.environ.get("DETCORE_SERVERS") or ROOT / ".servers") / name
    if not path.exists():
        raise NotInstalled(f"there is no {path}; scripts/object_servers.sh installs it")
    return path


class Store:
    """One server and its bucket; stop() ends it and takes its data along."""

    bucket = "test-bucket"

    def __init__(self, tls=None, host="127.0.0.1", inside=()):
        """`inside`: a command that runs the server's, say in another network, where `host` is."""
        self.tls, self.host, self.inside = tls, host, inside
        self.scheme = "https" if tls else "http"
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="det-store-"))
        self.log = self.data / "log"
        (self.data / "buckets").mkdir()
        try:
            self.start()
            self.make_bucket(self.bucket)
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    def start(self):
        """Also after kill(), on the same data and the same port."""
        ends = time.monotonic() + PATIENCE
        self.port = getattr(self, "port", None) or http2.free_port()
        while True:
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [*self.inside, *self.command()], env={**os.environ, **self.settings()}, cwd=self.data, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, preexec_fn=http2.die_with_parent)
            while self.process.poll() is None and time.monotonic() < ends:
                if self.answers():
                    return
                time.sleep(0.02)
            if time.monotonic() >= ends or b"in use" not in self.log.read_bytes():
                raise RuntimeError(f"{type(self).__name__} does not start:\n" + self.log.read_text()[-2000:])
            self.port = http2.free_port()  # somebody else took it meanwhile

    def answers(self):
        try:
            return self.send("GET", self.listing)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if hasattr(self, "process"):
            self.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def settings(self):
        return {}


class S3(Store):
    access_key, secret_key = "test-access-key", "test-secret-key"
    listing = "/"

    def send(self, method, path, body=b"", headers=(), service="s3"):
        """(status, headers, body)"""
        url = self.endpoint + path
        signed = object_requests.sign_s3(method, url, body, dict(headers), self.access_key, self.secret_key, service)
        return object_requests.send(method, url, body, signed, self.tls and self.tls[0])

    def make_bucket(self, name, headers=()):
        status, _, body = self.send("PUT", f"/{name}", headers=headers)
        assert status == 200, (status, body)

    def environment(self):
        return {"DET_TEST_S3_ENDPOINT": self.endpoint, "DET_TEST_S3_ACCESS_KEY": self.access_key,
                "DET_TEST_S3_SECRET_KEY": self.secret_key, "DET_TEST_S3_BUCKET": self.bucket}


class MinIO(S3):
    def command(self):
        command = [installed("minio"), "server", "--address", f"{self.host}:{self.port}", "--quiet"]
        if self.tls:
            certificates = self.data / "certificates"
            certificates.mkdir(exist_ok=True)
            for name, path in zip(("public.crt", "private.key"), self.tls):
                shutil.copy(path, certificates / name)
            command += ["--certs-dir", certificates]
        return [*command, self.data / "buckets"]

    def settings(self):
        return {"MINIO_ROOT_USER": self.access_key, "MINIO_ROOT_PASSWORD": self.secret_key, "MINIO_BROWSER": "off",
                "MINIO_UPDATE": "off", "HOME": str(self.data)}


class VersityGateway(S3):
    def command(self):
        versions = self.data / "versions"
        versions.mkdir(exist_ok=True)
        return [installed("versitygw"), str(self.port), self.data / "buckets", versions, *(self.tls or [])]

    def settings(self):
        return {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}


class FakeGcs(Store):
    listing = "/storage/v1/b?project=test"

    def send(self, method, path, body=b"", headers=()):
        return object_requests.send(method, self.endpoint + path, body, headers, self.tls and self.tls[0])

    def command(self):
        return [installed("fake-gcs-server"), str(self.port), *(self.tls or [])]

    def make_bucket(self, name):
        status, _, body = self.send("POST", self.listing, b'{"name": "%s"}' % name.encode(),
                                    {"Content-Type": "application/json"})
        assert status == 200, (status, body)

    def environment(self):
        return {"DET_TEST_GCS_ENDPOINT": self.endpoint, "DET_TEST_GCS_BUCKET": self.bucket}


class Azurite(Store):
    account, key = "testaccount", "dGVzdC1rZXktb2YtdGhlLXRlc3QtYWNjb3VudA=="
    listing = "?comp=list"

    @property
    def endpoint(self):
        return f"{super().endpoint}/{self.account}"

    def command(self):
        program = installed("azurite") / "node_modules/azurite/dist/src/blob/main.js"
        command = ["node", program, "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--silent",
                   "--disableTelemetry", "--skipApiVersionCheck", "--location", self.data / "buckets"]
        if self.tls:
            command += ["--cert", self.tls[0], "--key", self.tls[1], "--oauth", "basic"]
        return command

    def settings(self):
        return {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}

    def send(self, method, path, body=b"", headers=()):
        url = self.endpoint + path
        signed = object_requests.sign_azure(method, url, body, dict(headers), self.account, self.key)
        return object_requests.send(method, url, body, signed, self.tls and self.tls[0])

    def make_bucket(self, name):
        status, _, body = self.send("PUT", f"/{name}?restype=container")
        assert status == 201, (status, body)

    def environment(self):
        return {"DET_TEST_AZURE_ENDPOINT": self.endpoint, "DET_TEST_AZURE_ACCOUNT": self.account,
                "DET_TEST_AZURE_KEY": self.key, "DET_TEST_AZURE_CONTAINER": self.bucket}


KINDS = {"minio": MinIO, "versitygw": VersityGateway, "fake_gcs": FakeGcs, "azurite": Azurite}


@contextlib.contextmanager
def started(kind, tls=None, **where):
    """Throws NotInstalled."""
    store = KINDS[kind](tls, **where)
    try:
        yield store
    finally:
        store.stop()


def skip(reason):
    """As the test's protocol has it: no TAP plan, or the exit status of Automake."""
    if os.environ.get("CMOCKA_MESSAGE_OUTPUT") == "TAP":
        print(f"1..0 # SKIP {reason}")
        return 0
    print(f"skipped: {reason}")
    return 77


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="+", choices=KINDS, metavar="KIND")
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"))
    arguments = sys.argv[1:]
    command = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1:]
    options = parser.parse_args(arguments)
    # Stores end with this process, and with it the data: a test that is stopped leaves nothing.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        try:
            stores = [stack.enter_context(started(kind, options.tls)) for kind in options.kinds]
        except NotInstalled as missing:
            return skip(missing)
        if not command:
            os.write(1, " ".join(str(store.port) for store in stores).encode() + b"\n")
            sys.stdin.buffer.read()
            return 0
        for store in stores:
            os.environ.update(store.environment())
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
