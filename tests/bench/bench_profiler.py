#!/usr/bin/env python3
"""The profiler: CPU per sample against psutil (and pynvml where there is one) in the same run, and
training that is slowed by it.

A sample of psutil is what the one of Determined asks it: CPU, memory, disks, two file systems and
the network; ours has pressure and the trial's processes besides.
"""

import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))

SAMPLES = 300
INTERVAL = 0.1
PAIRS = 15
STEPS = 60
BUDGET_US, BUDGET_TIMES, BUDGET_SLOWER = 1000, 20, 0.5


def cpu_us():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6


def threads_us(names):
    """CPU of our threads: nanoseconds on a CPU are the first number of schedstat."""
    used = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() in names:
            used += int((task / "schedstat").read_text().split()[0]) / 1e3
    return used


def psutil_sample():
    try:
        import psutil
    except ImportError:
        return None
    try:
        import pynvml
        pynvml.nvmlInit()
        gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
    except Exception:  # of many kinds, and of none where there is no such package
        gpus = []

    def sample():
        psutil.cpu_percent(interval=None)
        psutil.virtual_memory().available
        psutil.disk_io_counters()
        psutil.disk_usage("/").percent
        psutil.net_io_counters()
        for gpu in gpus:
            pynvml.nvmlDeviceGetMemoryInfo(gpu)
            pynvml.nvmlDeviceGetUtilizationRates(gpu)

    return sample


def per_sample(core):
    """Microseconds of CPU a sample: ours, psutil's."""
    theirs = psutil_sample()
    ours_us, theirs_us = [], []
    for _ in range(5):
        core.profiler.on(INTERVAL, 10)
        time.sleep(INTERVAL * 5)
        before = threads_us({"det-profiler", "det-free-space"})
        begin = time.monotonic()
        time.sleep(INTERVAL * 30)
        count = (time.monotonic() - begin) / INTERVAL
        ours_us.append((threads_us({"det-profiler", "det-free-space"}) - before) / count)
        core.profiler.off()
        if theirs:
            theirs()
            before = cpu_us()
            for _ in range(SAMPLES):
                theirs()
            theirs_us.append((cpu_us() - before) / SAMPLES)
    return statistics.median(ours_us), statistics.median(theirs_us) if theirs else None


def work():
    total = 0
    for i in range(200_000):
        total += i * i
    return total


def steps(core):
    begin = time.process_time(), time.monotonic()
    for _ in range(STEPS):
        work()
    return time.monotonic() - begin[1]


def slowed(core):
    """Percent that the same work takes longer, of pairs one after the other."""
    ratios = []
    for pair in range(PAIRS):
        taken = {}
        for profiled in (True, False) if pair % 2 else (False, True):
            if profiled:
                core.profiler.on(INTERVAL, 10)
            taken[profiled] = steps(core)
            core.profiler.off()
        ratios.append(taken[True] / taken[False] - 1)
    return 100 * statistics.median(ratios)


def verdict(is_met):
    return "met" if is_met else "missed"


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(DET_HOME=home, XDG_DATA_HOME=home)
        from detcore import core
        with core.init() as context:
            ours, theirs = per_sample(context)
            print(f"a sample: {ours:.0f} us of CPU   budget {BUDGET_US} us: "
                  + verdict(ours <= BUDGET_US))
            if theirs:
                print(f"psutil:   {theirs:.0f} us, {theirs / ours:.1f} times as much   "
                      f"budget {BUDGET_TIMES} times: {verdict(theirs >= BUDGET_TIMES * ours)}")
            else:
                print("psutil: not installed")
            slower = slowed(context)
            print(f"training at an interval of {INTERVAL} s is slowed by {slower:.2f} %   "
                  f"budget {BUDGET_SLOWER} %: {verdict(slower <= BUDGET_SLOWER)}")


if __name__ == "__main__":
    main()
