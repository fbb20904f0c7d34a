"""Another machine and the cable to it: a network namespace of this one, and a process that carries each
frame from one to the other, late, sometimes not at all, or not any more. It needs root, and nothing of
the kernel but TAP devices."""

import contextlib
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def open_tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


class Cable:
    """`addresses` of this machine and of the other one."""

    def __init__(self):
        self.name = f"detcore-{os.getpid()}"
        self.addresses = [f"10.213.{100 + os.getpid() % 100}.{end}" for end in (1, 2)]
        self.carrier = None
        devices = [f"tap{end}-{os.getpid()}" for end in (1, 2)]
        self.taps = [open_tap(device) for device in devices]
        ip("netns", "add", self.name)
        ip("link", "set", devices[1], "netns", self.name)
        for there, device, address in zip(([], ["-n", self.name]), devices, self.addresses):
            ip(*there, "address", "add", address + "/24", "dev", device)
            ip(*there, "link", "set", device, "up")
        ip("-n", self.name, "link", "set", "lo", "up")

    def there(self, *command):
        """The command on the other machine."""
        return ["ip", "netns", "exec", self.name, *command]

    def connect(self, delay=0.0, loss=0.0, seed=0):
        """From now on: seconds that each frame takes, and the part of the frames that are lost."""
        self.cut()
        for tap in self.taps:  # what was sent while there was no cable
            with contextlib.suppress(BlockingIOError):
                while os.read(tap, 65536):
                    pass
        self.carrier = os.fork()
        if self.carrier == 0:
            try:  # and holds nothing else that is open here
                for fd in set(range(3, 1024)) - set(self.taps):
                    with contextlib.suppress(OSError):
                        os.close(fd)
                carry(self.taps, delay, loss, random.Random(seed), os.getppid())
            finally:
                os._exit(1)

    def cut(self):
        if self.carrier:
            os.kill(self.carrier, signal.SIGKILL)
            os.waitpid(self.carrier, 0)
            self.carrier = None

    def remove(self):
        self.cut()
        for tap in self.taps:
            os.close(tap)
        pids = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True)
        for pid in pids.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)


def carry(taps, delay, loss, chance, parent):
    on_the_way = []  # (when it arrives, a number that keeps the order, where, the frame)
    number = 0
    while os.getppid() == parent:
        until = on_the_way[0][0] - time.monotonic() if on_the_way else 1
        for tap in select.select(taps, [], [], max(0, until))[0]:
            with contextlib.suppress(BlockingIOError):
                for _ in range(64):
                    frame = os.read(tap, 65536)
                    if chance.random() >= loss:
                        number += 1
                        heapq.heappush(on_the_way, (time.monotonic() + delay, number,
                                                    taps[tap == taps[0]], frame))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):
                os.write(on_the_way[0][2], on_the_way[0][3])
            heapq.heappop(on_the_way)
