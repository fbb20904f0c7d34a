#!/usr/bin/env python3
"""Checkpoints to and from MinIO on this machine, against s5cmd, the AWS CRT client and boto3:

  bench_objects.py FOLDER [--files 10000] [--gib 8] [--rounds 5] [--netem SLOW_LINK]

The rivals are installed in FOLDER. Needs scripts/object_servers.sh, DETCORE_LIBRARY, and room for four times the data
on the disk of --directory. The clients take turns. Ours verifies what it reads against its manifest; the rivals do
not. --netem puts the store into a network of its own (as root), 20 ms away there and back, with 5 % of the packets
lost on either way; choose smaller sizes for it.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench_checkpoint import fill  # noqa: E402
from row import row  # noqa: E402
from servers import object_stores  # noqa: E402
from upstream import install  # noqa: E402

CLIENTS = ["detcore", "s5cmd", "awscrt", "boto3"]
MEMORY_BUDGET = 256  # MiB, and what Python takes


class Bench:
    def __init__(self, store, python, directory):
        self.store, self.python, self.directory = store, python, directory
        self.names = directory / "names"
        package = HERE.parents[1] / "wrappers" / "python"
        self.environment = {
            **os.environ, **store.environment(), "OBJECT_NAMES": str(self.names), "PYTHONPATH": str(package),
            "AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key,
            "AWS_REGION": "us-east-1", "DET_HOME": str(directory / "home")}

    def command(self, client, direction, folder, prefix):
        if client == "s5cmd":
            here, there = f"{folder}/", f"s3://{self.store.bucket}/{prefix}/"
            paths = [here, there] if direction == "up" else [there + "*", here]
            return [self.python.with_name("s5cmd"), "--endpoint-url", self.store.endpoint, "--log", "error", "cp", *paths]
        python = sys.executable if client == "detcore" else self.python
        return [python, HERE / "object_transfer.py", client, direction, folder, prefix]

    def run(self, client, direction, folder, prefix):
        """(seconds, seconds of the processor, MiB at most, what it printed)"""
        with tempfile.TemporaryFile() as output:
            begin = time.perf_counter()
            process = subprocess.Popen(self.command(client, direction, folder, prefix), stdout=output,
                                       env=self.environment)
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise RuntimeError(f"{client} {direction} ended with {process.returncode}")
            output.seek(0)
            told = output.read().decode().strip()
        return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, told

    def measure(self, clients, count, size, rounds):
        """{(client, direction): medians of seconds, processor seconds and MiB}"""
        source, target = self.directory / "source", self.directory / "target"
        source.mkdir()
        fill(source, count, size)
        self.names.write_text("".join(
            f"{path.stat().st_size} {path.relative_to(source)}\n"
            for path in sorted(source.rglob("*")) if path.is_file()))
        runs = {}
        for turn in range(rounds):
            # Another order each time: what one run leaves in memory and on disk affects the next.
            for client in (clients * 2)[turn % len(clients):][:len(clients)]:
                prefix = f"{client}-{turn}"
                *figures, told = self.run(client, "up", source, prefix)
                runs.setdefault((client, "up"), []).append(figures)
                target.mkdir()
                *figures, _ = self.run(client, "down", target, told or prefix)
                runs.setdefault((client, "down"), []).append(figures)
                if turn == 0:
                    self.compare(source, target)
                self.clear(target)
        shutil.rmtree(source)
        return {key: [statistics.median(column) for column in zip(*rows)] for key, rows in runs.items()}

    def compare(self, source, target):
        """A client that is fast but brings something else has not won."""
        for line in self.names.read_text().splitlines():
            name = line.split(" ", 1)[1]
            subprocess.run(["cmp", source / name, target / name], check=True)

    def clear(self, target):
        shutil.rmtree(target)
        bucket = self.store.data / "buckets" / self.store.bucket
        for path in bucket.iterdir():
            shutil.rmtree(path)
        subprocess.run(["sync", "-f", self.directory], check=True)


def report(title, medians, gib, small):
    rivals = [client for client in dict.fromkeys(client for client, _ in medians) if client != "detcore"]
    for direction in ("up", "down"):
        seconds, processor, memory = medians["detcore", direction]
        for rival in rivals:
            theirs = medians[rival, direction]
            goal = 1 / 5 if rival == "boto3" and small else 1
            row(f"{title}, {direction}", seconds, rival, theirs[0], goal=goal)
            row(f"{title}, {direction}: CPU of a GiB", processor / gib, rival, theirs[1] / gib)
        print(f"{title}, {direction}: memory {memory:.0f} MiB at most (budget {MEMORY_BUDGET} MiB of buffers)")


@contextlib.contextmanager
def far_away(slow_link):
    """Where a store is, for started(): in another network, behind slow_link. This process is in one of its own."""
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as network:
        while os.readlink(f"/proc/{network.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        link = subprocess.Popen([slow_link, "10", "5", str(network.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if link.stdout.readline() != b"ready\n":
                raise RuntimeError("slow_link does not start")
            yield {"host": "10.9.0.2", "inside": ["nsenter", "--net", "--target", str(network.pid)]}
        finally:
            link.stdin.close()
            link.wait()
            network.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the rivals are, or are installed")
    parser.add_argument("--directory", default=tempfile.gettempdir(), help="where to measure")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--files", type=int, default=10000, help="of 64 KiB; 0 for none")
    parser.add_argument("--gib", type=float, default=8, help="of the large file; 0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--netem", metavar="SLOW_LINK", help="the built slow_link")
    options = parser.parse_args()
    inside = "BENCH_OBJECTS_INSIDE" in os.environ  # without a way to the package index
    folder = options.folder.resolve()
    python = (folder / "bin" / "python" if inside else
              install(folder, "--requirement", str(HERE / "requirements-objects.txt")))
    clients = [client for client in options.clients.split(",") if python or client == "detcore"]
    if options.netem and not inside:
        os.environ["BENCH_OBJECTS_INSIDE"] = "1"
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv]
        return subprocess.run(command).returncode
    tempfile.tempdir = options.directory
    with tempfile.TemporaryDirectory(prefix="det-bench-") as directory, contextlib.ExitStack() as stack:
        where = stack.enter_context(far_away(options.netem)) if options.netem else {}
        with object_stores.started("minio", **where) as store:
            bench = Bench(store, python, pathlib.Path(directory))
            if options.files:
                report(f"{options.files} files of 64 KiB",
                       bench.measure(clients, options.files, 64 << 10, options.rounds), options.files / 16384, True)
            if options.gib:
                report(f"1 file of {options.gib:g} GiB",
                       bench.measure(clients, 1, int(options.gib * (1 << 30)), options.rounds), options.gib, False)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except object_stores.NotInstalled as missing:
        sys.exit(object_stores.skip(missing))
