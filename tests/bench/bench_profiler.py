#!/usr/bin/env python3
"""The profiler: CPU per sample against psutil (and pynvml where there is one) in the same run, and
training that is slowed by it.

Both sample at the same interval, on a thread of their own, one after the other: what costs little
in a loop costs several times as much after a tenth of a second of other work. Of psutil is taken
what Determined asks it (CPU, memory, disks, a file system, the network), and then that with the
trial's processes, which ours always has, and pressure besides.
"""

import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wrappers" / "python"))

SAMPLES = 30
ROUNDS = 3
INTERVAL = 0.1
PAIRS = 15
STEPS = 60
BUDGET_US, BUDGET_TIMES, BUDGET_SLOWER = 1000, 20, 0.5


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


def ours_us(core):
    core.profiler.on(INTERVAL, 10)
    time.sleep(INTERVAL * 3)
    ours = {"det-profiler", "det-free-space"}
    before, begin = threads_us(ours), time.monotonic()
    time.sleep(INTERVAL * SAMPLES)
    used = threads_us(ours) - before
    count = (time.monotonic() - begin) / INTERVAL
    core.profiler.off()
    return used / count


def per_sample(core):
    """Microseconds of CPU a sample: ours, and those of psutil by name."""
    others = psutil_samples()
    ours, theirs = [], {name: [] for name in others}
    for _ in range(ROUNDS):
        ours.append(ours_us(core))
        for name, sample in others.items():
            theirs[name].append(paced_us(sample))
    return statistics.median(ours), {name: statistics.median(us) for name, us in theirs.items()}


def work():
    total = 0
    for i in range(200_000):
        total += i * i
    return total


def steps(core):
    begin = time.process_time()  # of all threads: others on this machine do not count
    for _ in range(STEPS):
        work()
    return time.process_time() - begin


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
            for name, us in theirs.items():
                print(f"{name}: {us:.0f} us, {us / ours:.1f} times as much   "
                      f"budget {BUDGET_TIMES} times: {verdict(us >= BUDGET_TIMES * ours)}")
            if not theirs:
                print("psutil: not installed")
            slower = slowed(context)
            print(f"training at an interval of {INTERVAL} s is slowed by {slower:.2f} %   "
                  f"budget {BUDGET_SLOWER} %: {verdict(slower <= BUDGET_SLOWER)}")


if __name__ == "__main__":
    main()
