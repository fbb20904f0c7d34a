#!/usr/bin/env python3
"""The profiler: CPU per sample against psutil (and pynvml where there is one) in the same run, and
training that is slowed by it.

Both sample at the same interval, on a thread of their own, one after the other: what costs little
in a loop costs several times as much after a tenth of a second of other work. Of psutil is taken
what Determined asks it (CPU, memory, disks, a file system, the network), and then that with the
trial's processes, which ours always has, and pressure besides. Ours reads counters once a second,
as often as they are needed for the averages of a report of ten samples, and in every sample where
each is a report; psutil, whose rates go from call to call, is asked everything each time.

Training: of many short pairs of the same work with and without the profiler, which has begun
before, the median of the ratios, and between which two it lies with a probability of 95 %. What
others do on the machine hides less than a percent easily; so it is also told what the samples cost.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

from row import row

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))

SAMPLES = 30
ROUNDS = 3
REPORTS = (10, 1)
INTERVAL = 0.1
PAIRS = 60
STEPS = 40


def threads_us(names):
    """CPU of our threads: nanoseconds on a CPU are the first number of schedstat."""
    used = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() in names:
            used += int((task / "schedstat").read_text().split()[0]) / 1e3
    return used


def gpu_handles():
    try:
        import pynvml
        pynvml.nvmlInit()
        return pynvml, [pynvml.nvmlDeviceGetHandleByIndex(i)
                        for i in range(pynvml.nvmlDeviceGetCount())]
    except Exception:  # of many kinds, and where there is no such package
        return None, []


def psutil_samples():
    """By name, what psutil is asked."""
    try:
        import psutil
    except ImportError:
        return {}
    nvml, gpus = gpu_handles()

    def machine():
        psutil.cpu_percent(interval=None)
        psutil.virtual_memory().available
        psutil.disk_io_counters()
        psutil.disk_usage("/").percent
        psutil.net_io_counters()
        for gpu in gpus:
            nvml.nvmlDeviceGetMemoryInfo(gpu)
            nvml.nvmlDeviceGetUtilizationRates(gpu)

    own = psutil.Process()

    def with_processes():
        machine()
        for process in [own, *own.children(recursive=True)]:
            with process.oneshot():
                process.cpu_times(), process.memory_info(), process.io_counters()

    return {"psutil": machine, "psutil, with processes": with_processes}


def paced_us(sample):
    """CPU of a thread that samples so often, without its start and first samples."""
    used = []

    def run():
        for count in range(SAMPLES + 3):
            if count == 3:
                used.append(time.thread_time())
            sample()
            time.sleep(INTERVAL)
        used.append(time.thread_time())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return (used[1] - used[0]) * 1e6 / SAMPLES


def ours_us(core, samples_per_report):
    core.profiler.on(INTERVAL, samples_per_report)
    time.sleep(INTERVAL * 3)
    ours = {"det-profiler", "det-free-space"}
    before, begin = threads_us(ours), time.monotonic()
    time.sleep(INTERVAL * SAMPLES)
    used = threads_us(ours) - before
    count = (time.monotonic() - begin) / INTERVAL
    core.profiler.off()
    return used / count


def per_sample(core):
    """Microseconds of CPU a sample: ours by the samples of a report, those of psutil by name."""
    others = psutil_samples()
    ours, theirs = {count: [] for count in REPORTS}, {name: [] for name in others}
    for _ in range(ROUNDS):
        for count, rounds in ours.items():
            rounds.append(ours_us(core, count))
        for name, sample in others.items():
            theirs[name].append(paced_us(sample))
    return [{name: statistics.median(us) for name, us in all.items()} for all in (ours, theirs)]


def work():
    total = 0
    for i in range(200_000):
        total += i * i
    return total


def steps():
    """Seconds on a CPU, of all threads, and by the clock."""
    begin = time.process_time(), time.monotonic()
    for _ in range(STEPS):
        work()
    return time.process_time() - begin[0], time.monotonic() - begin[1]


def median_of(ratios):
    """The median and the bounds of its interval of 95 %, by their ranks: whatever they are
    distributed like."""
    ordered, half = sorted(ratios), 0.98 * len(ratios) ** 0.5
    low = max(int(len(ratios) / 2 - half), 0)
    return statistics.median(ratios), ordered[low], ordered[-1 - low]


def slowed(core):
    """Percent that the same work takes longer, of pairs one after the other: of CPU, of time."""
    ratios = []
    for pair in range(PAIRS):
        taken = {}
        for profiled in (True, False) if pair % 2 else (False, True):
            if profiled:
                core.profiler.on(INTERVAL, 10)
                time.sleep(INTERVAL / 2)  # the first sample is part of the start
            taken[profiled] = steps()
            core.profiler.off()
        ratios.append([100 * (with_it / without - 1)
                       for with_it, without in zip(taken[True], taken[False])])
    return [median_of(of_one) for of_one in zip(*ratios)]


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(DET_HOME=home, XDG_DATA_HOME=home)
        from detcore import core
        with core.init() as context:
            ours, theirs = per_sample(context)
            for rival, us in theirs.items():
                for count, own in ours.items():
                    row(f"CPU of a sample of the profiler, {count} in a report", own / 1e6, rival, us / 1e6, goal=0.05)
            if not theirs:
                print("psutil: not installed")
            share = ours[REPORTS[0]] / INTERVAL / 1e4
            print(f"training at an interval of {INTERVAL} s: its samples take {share:.2f} % of a CPU (goal: at most 0.5 %)")
            for what, (middle, low, high) in zip(("CPU", "time"), slowed(context)):
                print(f"  {PAIRS} pairs took {middle:+.2f} % more {what} with it, "
                      f"between {low:+.2f} % and {high:+.2f} %")


if __name__ == "__main__":
    main()
