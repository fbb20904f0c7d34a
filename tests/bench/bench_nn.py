#!/usr/bin/env python3
"""Steps of the layers engine against PyTorch and TensorFlow, each also compiled: bench_nn.py NN_STEPS [PYTHON [TORCH_PYTHON]].

PYTHON has TensorFlow, such as that of .venv-integrations, and TORCH_PYTHON has PyTorch 2, such as that of .venv-torch, which
`scripts/python_env.sh torch` makes; where there is none PYTHON's is taken. A rival that there is not is left out. All use as many threads as
the process may; the turns go round, and of each the median of its medians is printed. Memory is the most that a
process has had in the last turn, and how much of it came after its libraries were loaded."""

import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
CASES = [("mlp", 1, 3000), ("mlp", 64, 500), ("mlp", 1024, 60), ("cnn", 64, 15), ("lstm", 64, 60),
         ("transformer", 16, 60)]
BUDGET_OF_ONE_RECORD = 15e3  # nanoseconds
BUDGET_OF_FIRST_STEP = 50e6
TURNS = 3


def output_of(*command):
    run = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [float(number) for number in run.stdout.split()] if run.returncode == 0 else None


def verdict(is_met):
    return "met" if is_met else "missed"


def memory_line(memory):
    """`memory`: of each, in KiB, the most and what it had once it was loaded."""
    parts = [f"{name} {most / 1024:.0f} MiB ({(most - loaded) / 1024:.0f})" for name, (most, loaded) in memory.items()]
    ours, *rivals = (most for most, _ in memory.values())
    is_met = all(ours <= rival for rival in rivals)
    return "memory: " + ", ".join(parts) + (f"; budget the least: {verdict(is_met)}" if rivals else "")


def main(steps, python=sys.executable, torch_python=sys.executable):
    of_torch = torch_python if pathlib.Path(torch_python).exists() else python
    pythons = {"torch": of_torch, "inductor": of_torch, "eager": python, "tf": python, "xla": python}
    for model, batch, count in CASES:
        turns = {"ours": []}
        firsts, memory = [], {}
        for _ in range(TURNS):
            ours, first, *memory["ours"] = output_of(steps, model, batch, count)
            turns["ours"].append(ours)
            firsts.append(first)
            for rival, its_python in pythons.items():
                found = output_of(its_python, HERE / "nn_rivals.py", rival, model, batch, count)
                if found is not None:
                    time, *memory[rival] = found
                    turns.setdefault(rival, []).append(time)
        times = {name: statistics.median(all_of_it) for name, all_of_it in turns.items()}
        ours = times.pop("ours")
        line = f"{model:11} at {batch:4}: {ours / 1e3:9.1f} us"
        for rival, time in times.items():
            line += f"   {rival} {time / 1e3:9.1f} us ({ours / time:5.2f} x)"
        if times:
            line += f"   budget 1 x the best: {verdict(ours <= min(times.values()))}"
        if batch == 1:
            line += f", 15 us: {verdict(ours <= BUDGET_OF_ONE_RECORD)}"
        first = statistics.median(firsts)
        print(f"{line}; first step after {first / 1e6:.1f} ms, budget 50 ms: {verdict(first <= BUDGET_OF_FIRST_STEP)}")
        print(" " * 19 + memory_line(memory), flush=True)


main(*sys.argv[1:])
