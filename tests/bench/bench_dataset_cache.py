#!/usr/bin/env python3
"""A cached dataset against tf.data's cache(filename) and against reading a plain file.

Images of 28 x 28 floats with a label, one epoch of batches of 128 each, turn by turn, from the
system's file cache; the medians of the turns. The file: the records alone, read into memory in
blocks of the same size.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

TURNS, RECORDS, BATCH, BLOCK = 5, 20000, 128, 1 << 20

VENV = pathlib.Path(os.environ.get("DETCORE_VENV_INTEGRATIONS", ROOT / ".venv-integrations"))
if VENV.exists() and pathlib.Path(sys.prefix) != VENV:
    os.execv(VENV / "bin/python", [VENV / "bin/python", *sys.argv])

try:
    import tensorflow as tf
    from detcore._trial_cache import open_dataset
    from detcore.trial._dataset_records import read_records, write_records
except ImportError as missing:
    print(f"dataset cache: left out: {missing}")
    sys.exit(0)
import numpy as np
from row import row

IMAGES = np.random.default_rng(1).random((RECORDS, 28, 28), dtype=np.float32)
LABELS = np.arange(RECORDS) % 10
SIZE = RECORDS * (28 * 28 * 4 + 8)


def plain():
    return tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def epoch(dataset):
    for _ in dataset.batch(BATCH):
        pass


def read_plain(path):
    buffer = bytearray(BLOCK)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def read_records_only(dataset, **options):
    reader = dataset.reader(**options)
    buffer, sizes = np.empty(BLOCK, np.uint8), np.empty(4096, np.uint64)
    while reader.next(buffer, sizes):
        pass


def write_ours(folder):
    writer = open_dataset(folder, "images", "1")
    write_records(writer, plain)
    writer.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        theirs = plain().cache(os.path.join(folder, "theirs"))
        written = {
            "ours": seconds(lambda: write_ours(folder)),
            "cache()": seconds(lambda: epoch(theirs)),
        }
        dataset = open_dataset(folder, "images", "1")
        file = os.path.join(folder, "plain")
        pathlib.Path(file).write_bytes(bytes(SIZE))
        ways = {
            "ours": lambda: epoch(read_records(dataset, dataset.reader)),
            "ours, shuffled": lambda: epoch(
                read_records(dataset, lambda: dataset.reader(shuffle=1))
            ),
            "cache()": lambda: epoch(theirs),
            "our records": lambda: read_records_only(dataset),
            "our records, shuffled": lambda: read_records_only(dataset, shuffle=1),
            "a plain file": lambda: read_plain(file),
        }
        turns = [{name: seconds(way) for name, way in ways.items()} for _ in range(TURNS)]
    medians = {name: statistics.median(turn[name] for turn in turns) for name in ways}
    speeds = {name: SIZE / seconds / 1e6 for name, seconds in medians.items()}
    row("a cached dataset: an epoch", speeds["ours"], "tf.data's cache()", speeds["cache()"], "MB/s", 1)
    row("a cached dataset: a shuffled epoch", speeds["ours, shuffled"], "tf.data's cache(), in order",
        speeds["cache()"], "MB/s")
    row("a cached dataset: records alone", speeds["our records"], "a plain file", speeds["a plain file"], "MB/s")
    row("a cached dataset: shuffled records alone", speeds["our records, shuffled"], "a plain file",
        speeds["a plain file"], "MB/s")
    row("a cached dataset: writing", written["ours"], "tf.data's cache()", written["cache()"])


main()
