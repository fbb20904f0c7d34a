#!/usr/bin/env python3
"""What sampling GPUs costs, against nvidia-ml-py (pynvml) with the same questions in the same order.

Both ask the library that is found as libnvidia-ml.so.1: NVIDIA's, or that of the tests, which answers at
once. With the latter the figures are what is around NVML; with NVIDIA's both pay for the driver as well.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from row import row

ROOT = Path(__file__).resolve().parents[2]
GOAL = 0.05

try:
    import pynvml
except ImportError:
    python = ROOT / ".venv/bin/python"
    if not python.exists() or Path(sys.executable) == python:
        sys.exit("bench_gpu_sampling.py: there is no nvidia-ml-py; scripts/python_env.sh installs it")
    os.execv(python, [str(python), *sys.argv])


class Rival:
    def __init__(self):
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        self.gpus = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
        self.turn = 0
        links = (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX)
        self.fields = [(field, 2**32 - 1) for field in links]

    def sample(self):
        figures = []
        for gpu in self.gpus:
            memory = pynvml.nvmlDeviceGetMemoryInfo(gpu, pynvml.nvmlMemory_v2)
            figures.append([
                pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu, memory.free, memory.used,
                pynvml.nvmlDeviceGetPowerUsage(gpu),
                pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
                pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
                pynvml.nvmlDeviceGetComputeRunningProcesses(gpu),
                pynvml.nvmlDeviceGetFieldValues(gpu, self.fields)])
        gpu = self.gpus[self.turn % len(self.gpus)]
        self.turn += 1
        for counter in (pynvml.NVML_PCIE_UTIL_TX_BYTES, pynvml.NVML_PCIE_UTIL_RX_BYTES):
            figures.append(pynvml.nvmlDeviceGetPcieThroughput(gpu, counter))
        return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="sample_gpus")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=2000)
    options = parser.parse_args()
    rival = Rival()
    rival.sample()
    ours, theirs = [], []
    for _ in range(options.rounds):
        said = subprocess.run([options.program, str(options.samples)], capture_output=True, check=True)
        ours.append(float(said.stdout))
        begin = time.process_time()
        for _ in range(options.samples):
            rival.sample()
        theirs.append((time.process_time() - begin) / options.samples * 1e6)
    row(f"CPU of a sample of {len(rival.gpus)} GPUs", statistics.median(ours) / 1e6, "pynvml",
        statistics.median(theirs) / 1e6, goal=GOAL)


if __name__ == "__main__":
    main()
