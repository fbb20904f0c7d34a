#!/usr/bin/env python3
"""Checkpoints to and from MinIO on this machine, against s5cmd, the AWS CRT client and boto3:

  bench_objects.py FOLDER [--files 10000] [--gib 8] [--rounds 5] [--netem]

The rivals are installed in FOLDER. Needs scripts/object_servers.sh, DETCORE_LIBRARY, and room for four times the data
on the disk of --directory. The clients take turns. Ours verifies what it reads against its manifest and syncs it to
disk; the rivals do neither. --netem measures in a network namespace of its own (as root), with 20 ms between client
and store and 5 % of the packets lost, where the kernel has that; choose smaller sizes for it.
"""

import argparse
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


def verdict(is_met):
    return "met" if is_met else "MISSED"


def report(title, medians, gib, small):
    clients = list(dict.fromkeys(client for client, _ in medians))
    for direction in ("up", "down"):
        print(f"\n{title}, {direction}\n  {'':10} {'seconds':>9} {'MiB/s':>8} {'CPU s/GiB':>10} {'peak MiB':>9}  / ours")
        own = medians.get(("detcore", direction))
        for client in clients:
            seconds, processor, memory = medians[client, direction]
            ratio = f"{seconds / own[0]:6.2f}" if own else ""
            print(f"  {client:10} {seconds:9.3f} {gib * 1024 / seconds:8.1f} {processor / gib:10.2f} {memory:9.0f}  {ratio}")
        if not own:
            continue
        for rival, budget in (("s5cmd", 1), ("awscrt", 1), ("boto3", 5 if small else 0)):
            if budget and rival in clients:
                ratio = medians[rival, direction][0] / own[0]
                print(f"  {rival} / ours: {ratio:.2f} (budget {budget}: {verdict(ratio >= budget)})")
        print(f"  memory: {own[2]:.0f} MiB (budget {MEMORY_BUDGET} MiB of buffers)")


def inside_slow_network(arguments):
    """Starts this again in a network namespace of its own, whose loopback is slow and loses packets."""
    setup = ("ip link set lo mtu 1500 up && tc qdisc add dev lo root netem delay 10ms loss 2.5% limit 100000 && "
             'exec "$0" "$@"')
    return subprocess.run(["unshare", "--net", "sh", "-c", setup, sys.executable, __file__, *arguments]).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the rivals are, or are installed")
    parser.add_argument("--directory", default=tempfile.gettempdir(), help="where to measure")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--files", type=int, default=10000, help="of 64 KiB; 0 for none")
    parser.add_argument("--gib", type=float, default=8, help="of the large file; 0 for none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--netem", action="store_true")
    options = parser.parse_args()
    python = install(options.folder.resolve(), "--requirement", str(HERE / "requirements-objects.txt"))
    clients = [client for client in options.clients.split(",") if python or client == "detcore"]
    if options.netem:
        return inside_slow_network([argument for argument in sys.argv[1:] if argument != "--netem"])
    tempfile.tempdir = options.directory
    with tempfile.TemporaryDirectory(prefix="det-bench-") as directory:
        with object_stores.started("minio") as store:
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
