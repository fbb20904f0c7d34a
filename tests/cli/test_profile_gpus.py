#!/usr/bin/env python3
"""`det run --profile` on a machine that has GPUs, by the NVML of tests/profiler."""
import sys
from pathlib import Path

from harness import main, test
from running import SINGLE, TRAINEE, config, rows, write

FAKE_NVML = sys.argv[4]
DOCUMENTED = (Path(__file__).resolve().parents[2] / "docs/profiler.md").read_text()
GPUS = [f"GPU-00000000-0000-0000-0000-{i:012}" for i in range(2)]


def profile(store, scenario, *variables):
    """Output of a trial; what `det` itself makes of GPUs is of no concern here."""
    command = ["env", "-u", "CUDA_VISIBLE_DEVICES", f"LD_LIBRARY_PATH={FAKE_NVML}", f"FAKE_NVML={scenario}",
               *variables, TRAINEE]
    return store.run_loudly("run", write(store, config(SINGLE)), "--profile", "--slots", "1", "--", *command,
                            env={"TRAINEE_MS": "30"})


def figures(store):
    """Of the one report of a trial this short, by GPU; none where it has none."""
    reports = store.lines("metrics", "1", "-g", "gpu")
    assert len(reports) == 1, reports
    assert reports[0]["steps_completed"] is None, reports
    (by_gpu,) = reports[0]["metrics"].values()
    return by_gpu


def groups(store):
    return {row["group"] for row in store.lines("metrics", "1")}


@test
def each_gpu_is_reported_under_its_uuid(store):
    profile(store, "gpus=2")
    by_gpu = figures(store)
    assert sorted(by_gpu) == GPUS, by_gpu
    for i, gpu in enumerate(GPUS):
        of_gpu = by_gpu[gpu]
        assert of_gpu["gpu_util"] == 40 + i and of_gpu["gpu_power"] == 100.5 + i, of_gpu
        assert of_gpu["gpu_temperature"] == 50 + i and of_gpu["gpu_clock"] == 1400 + i, of_gpu
        assert of_gpu["gpu_used_memory"] == (2 + i) << 30, of_gpu
        assert of_gpu["gpu_free_memory"] == (77 - i) << 30, of_gpu
        assert of_gpu["gpu_pcie_throughput_sent"] == (1000 + i) * 1000, of_gpu
        sent, received = of_gpu["gpu_nvlink_throughput_sent"], of_gpu["gpu_nvlink_throughput_recv"]
        assert 0 < sent < received, of_gpu
        assert all(f"`{name}`" in DOCUMENTED for name in of_gpu), of_gpu
    table = store.run("metrics", "1", "-g", "gpu")
    assert table.count("gpu_util") == 2, table


@test
def a_gpu_that_is_lost_is_a_warning_and_the_other_goes_on(store):
    profile(store, "gpus=2 fail=nvmlDeviceGetUtilizationRates:0:15:2")
    assert list(figures(store)) == [GPUS[1]]
    told = [line["text"] for line in store.lines("logs", "1") if "GPU is lost" in line["text"]]
    assert len(told) == 1 and GPUS[0] in told[0] and "nvmlDeviceGetUtilizationRates" in told[0], told
    assert rows(store, "SELECT state FROM trials") == [("COMPLETED",)]


@test
def a_driver_that_does_not_fit_its_library_is_one_warning(store):
    profile(store, "fail=nvmlInit:-1:18")
    told = [line["text"] for line in store.lines("logs", "1") if "NVML" in line["text"]]
    assert len(told) == 1 and "Driver/library version mismatch" in told[0], told
    assert "gpu" not in groups(store) and {"cpu", "memory"} <= groups(store), groups(store)


@test
def a_machine_without_gpus_says_nothing_of_them(store):
    profile(store, "gpus=0")
    assert "gpu" not in groups(store), groups(store)
    logs = [line["text"] for line in store.lines("logs", "1")]
    assert not any("GPU" in text or "NVML" in text for text in logs), logs


@test
def only_the_gpus_that_a_trial_sees_are_reported(store):
    profile(store, "gpus=2", f"CUDA_VISIBLE_DEVICES={GPUS[1]}")
    assert list(figures(store)) == [GPUS[1]]


main({})
