"""The real TensorBoard: what it makes of event files, and as what `det tensorboard` starts."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conftest import PATIENCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tensorboard.backend.event_processing import event_accumulator


def read(path: pathlib.Path) -> Any:
    """All events below a directory, with nothing left out."""
    everything = dict.fromkeys(event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE, 0)
    board = event_accumulator.EventAccumulator(str(path), everything)
    board.Reload()
    return board


def records(file: pathlib.Path) -> list[bytes]:
    """What is whole, by the lengths alone."""
    data = file.read_bytes()
    found = []
    while len(data) >= 12:
        size = 16 + struct.unpack_from("<Q", data)[0]
        if len(data) < size:
            break
        found.append(data[12 : size - 4])
        data = data[size:]
    return found


def ask(address: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address + path, data, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def awaited(address: str, path: str, is_there: Callable[[Any], bool], body: Any = None) -> Any:
    """The first answer that is as wanted: TensorBoard loads on threads of its own."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = ask(address, path, body)
        if is_there(answer):
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)


@contextlib.contextmanager
def started(*arguments: str, options: Sequence[str] = ()) -> Iterator[str]:
    """`det tensorboard`, by its address; ended as Ctrl-C does. `options` are for TensorBoard."""
    found = {"PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    with subprocess.Popen(
        [os.environ["DETCORE_COMMAND"], "tensorboard", *arguments, "--", "--port", "0", *options],
        env=os.environ | found | {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        seen = ""
        for line in process.stderr:
            seen += line
            if " at http://" in line:
                break
        else:
            raise AssertionError(seen)
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        try:
            yield line.split(" at ")[1].split()[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
            reader.join()
