#!/usr/bin/env python3
"""Steps of the layers engine against PyTorch and TensorFlow, each also compiled: bench_nn.py NN_STEPS [PYTHON [TORCH_PYTHON]].

PYTHON has TensorFlow, such as that of .venv-integrations, and TORCH_PYTHON has PyTorch 2, such as that of .venv-torch, which
`scripts/python_env.sh torch` makes; where there is none PYTHON's is taken. A rival that there is not is left out. All use as
many threads as the process may; the turns go round, and of each the median of its medians is printed. Memory is the most
that a process has had in the last turn, and how much of it came after its libraries were loaded. Where there is a GPU the
convolutional network and the transformer are measured there as well, in bfloat16."""

import os
import pathlib
import statistics
import subprocess
import sys

from row import row

HERE = pathlib.Path(__file__).parent
CASES = [("mlp", 1, 3000), ("mlp", 64, 500), ("mlp", 1024, 60), ("cnn", 64, 15), ("lstm", 64, 60),
         ("transformer", 16, 60)]
GPU_CASES = [("cnn", 64, 200), ("cnn", 1024, 100), ("transformer", 16, 200), ("transformer", 256, 100)]
RIVALS = {"torch": "PyTorch", "inductor": "torch.compile", "eager": "TensorFlow, eager", "tf": "tf.function", "xla": "XLA"}
TURNS = 3


def output_of(*command):
    """Its numbers, or what it said as it failed."""
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return [float(number) for number in run.stdout.split()] if run.returncode == 0 else run.stderr.strip()


def measure(ours, rivals):
    """Of commands, ours and those of rivals by name: the median times of all that can be had, when our first step ended,
    and memory."""
    turns, firsts, memory = {"ours": []}, [], {}
    for _ in range(TURNS):
        found = output_of(*ours)
        if isinstance(found, str):
            sys.exit(found)
        time, first, *memory["ours"] = found
        turns["ours"].append(time)
        firsts.append(first)
        for rival, command in rivals.items():
            found = output_of(*command)
            if not isinstance(found, str):
                time, *memory[rival] = found
                turns.setdefault(rival, []).append(time)
    return {name: statistics.median(times) for name, times in turns.items()}, statistics.median(firsts), memory


def print_rows(what, times):
    ours = times.pop("ours")
    for rival, time in times.items():
        row(what, ours / 1e9, RIVALS[rival], time / 1e9, goal=1)


def on_processors(steps, python, torch_python):
    pythons = {"torch": torch_python, "inductor": torch_python, "eager": python, "tf": python, "xla": python}
    for model, batch, count in CASES:
        asked = model, batch, count
        rivals = {name: (its, HERE / "nn_rivals.py", name, *asked) for name, its in pythons.items()}
        times, first, memory = measure((steps, *asked), rivals)
        what = f"layers: a step of the {model}, {batch} records"
        print_rows(what, times)
        print(f"{what}: the first one ends after {first / 1e6:.1f} ms (goal: at most 50 ms)")
        print(f"{what}: memory", ", ".join(
            f"{name} {most / 1024:.0f} MiB ({(most - loaded) / 1024:.0f} after loading)"
            for name, (most, loaded) in memory.items()), flush=True)


def on_gpu(steps, torch_python):
    """In 16 bits, against PyTorch, whose compiled steps are the goal."""
    # Of the build that NN_STEPS is of, unless another one is named.
    library = pathlib.Path(steps).resolve().parents[2] / "wrappers/nn/cuda/libdetnn-cuda.so.0"
    if library.exists():
        os.environ.setdefault("DETNN_CUDA_LIBRARY", str(library))
    way = "cuda", "mixed_bfloat16"
    refusal = output_of(steps, "mlp", 1, 1, *way)
    if isinstance(refusal, str):
        return print(f"on no GPU: {refusal}")
    for model, batch, count in GPU_CASES:
        asked = model, batch, count, *way
        rivals = {name: (torch_python, HERE / "nn_rivals.py", name, *asked) for name in ("torch", "inductor")}
        times, _, _ = measure((steps, *asked), rivals)
        print_rows(f"layers on a GPU, bfloat16: a step of the {model}, {batch} records", times)


def main(steps, python=sys.executable, torch_python=sys.executable):
    of_torch = torch_python if pathlib.Path(torch_python).exists() else python
    on_processors(steps, python, of_torch)
    on_gpu(steps, of_torch)


main(*sys.argv[1:])
