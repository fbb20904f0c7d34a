"""A proxy that spoils some of the exchanges which it passes on:

  spoiling_proxy --to PORT [--seed N] [--FAULT PROBABILITY]...

Prints two ports: its own, and that of its control: POST /test/mode {"cut_answer": 0.1, ...} changes
the probabilities, GET /test/mode tells them and how often each fault happened. At most one fault
for a connection or an exchange:

  refuse       of a connection: it is reset at once
  delay        the request waits for up to `delay_seconds` (0.02)
  cut_request  the master gets a part of the request only, and the client no answer
  cut_answer   the client gets a part of the answer only
  flip         one bit of the answer is another; the connection ends after it
  unavailable  502 or 503 from the proxy itself; the master gets nothing
  hang         no answer: the request went through or not, and the connection stays open

What happens to the nth exchange of the mth connection depends on the seed alone.
"""

import argparse
import collections
import json
import random
import select
import socket
import struct
import threading
import time

from . import serving

FAULTS = ["refuse", "delay", "cut_request", "cut_answer", "flip", "unavailable", "hang"]


class Left(Exception):
    """One of the two sides has closed its connection."""


class Mode:
    """The probabilities of now; all connections share them."""

    def __init__(self, to, seed, chances):
        self.to, self.seed = to, seed
        self.delay_seconds = 0.02
        self.chances = chances
        self.counts = collections.Counter()

    def change(self, body):
        self.delay_seconds = body.pop("delay_seconds", self.delay_seconds)
        unknown = body.keys() - set(FAULTS)
        if unknown:
            raise ValueError(f"no such faults: {unknown}")
        self.chances = {**self.chances, **body}

    def draw(self, chance, faults):
        """One of the faults, or none. `chance` is uniform in 0…1."""
        for fault in faults:
            chance -= self.chances.get(fault, 0)
            if chance < 0:
                self.counts[fault] += 1
                return fault
        self.counts["passed"] += 1
        return None


def read_message(source, other, start=b""):
    """One HTTP message, and what came after it. `other` is watched: it may leave meanwhile."""
    data = start
    needed = None
    while needed is None or len(data) < needed:
        if needed is None and b"\r\n\r\n" in data:
            head = data.partition(b"\r\n\r\n")[0]
            lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n")
                       if line.startswith(b"content-length:")]
            needed = len(head) + 4 + (int(lengths[0]) if lengths else 0)
            continue
        readable = select.select([source, other], [], [])[0]
        if source in readable:
            block = source.recv(1 << 16)
            if not block:
                raise Left
            data += block
        elif not other.recv(1, socket.MSG_PEEK):
            raise Left
        else:
            time.sleep(0.001)  # it has more to say, once this message is through
    return data[:needed], data[needed:]


class Connection:
    def __init__(self, mode, client, number):
        self.mode, self.client = mode, client
        self.random = random.Random(f"{mode.seed}/{number}")
        self.master = None

    def run(self):
        try:
            if self.mode.draw(self.random.random(), ["refuse"]):
                reset = struct.pack("ii", 1, 0)
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                return
            self.master = socket.create_connection(("127.0.0.1", self.mode.to))
            for side in (self.client, self.master):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            rest = b""
            while True:
                request, rest = read_message(self.client, self.master, rest)
                self.exchange(request)
        except (Left, OSError):
            pass
        finally:
            self.client.close()
            if self.master:
                self.master.close()

    def part(self, data):
        return data[: self.random.randrange(len(data))]

    def exchange(self, request):
        fault = self.mode.draw(self.random.random(), FAULTS[1:])
        if fault == "unavailable":
            head = b"HTTP/1.1 %d Fault\r\n" % self.random.choice([502, 503])
            return self.client.sendall(head + b"Content-Length: 5\r\n\r\nfault")
        if fault == "delay":
            time.sleep(self.random.random() * self.mode.delay_seconds)
        if fault == "cut_request":
            self.master.sendall(self.part(request))
            raise Left
        if fault != "hang" or self.random.random() < 0.5:
            self.master.sendall(request)
            answer, _ = read_message(self.master, self.client)
        if fault == "hang":
            while self.client.recv(1 << 16):
                pass
            raise Left
        if fault == "cut_answer":
            self.client.sendall(self.part(answer))
            raise Left
        if fault == "flip":
            answer = bytearray(answer)
            answer[self.random.randrange(len(answer))] ^= 1 << self.random.randrange(8)
            self.client.sendall(answer)
            raise Left
        self.client.sendall(answer)


class Control(serving.Handler):
    def respond(self, body):
        mode = self.server.mode
        if self.command == "POST":
            mode.change(json.loads(body))
        shown = {**mode.chances, "delay_seconds": mode.delay_seconds, "counts": mode.counts}
        self.answer(200, serving.to_json(shown))


def accept(listener, mode):
    number = 0
    while True:
        client, _ = listener.accept()
        number += 1
        threading.Thread(target=Connection(mode, client, number).run, daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    for fault in FAULTS:
        parser.add_argument("--" + fault.replace("_", "-"), type=float, default=0)
    options = vars(parser.parse_args())
    mode = Mode(options["to"], options["seed"], {fault: options[fault] for fault in FAULTS})
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    threading.Thread(target=accept, args=[listener, mode], daemon=True).start()
    control = serving.Server(("127.0.0.1", 0), Control)
    control.mode = mode
    serving.serve(control, ports=[listener.getsockname()[1], control.server_address[1]])


if __name__ == "__main__":
    main()
