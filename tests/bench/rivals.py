#!/usr/bin/env python3
"""Tries what README's table says of detcore, MLflow, W&B and Optuna: a program of 200 steps is killed in the
middle, and started again as each one's documentation says. Prints what was kept, and where the second start began.
usage: rivals.py PYTHON_WITH_THE_OTHERS PREFIX_OF_DETCORE
The others come from the package index: python3 -m venv others && others/bin/pip install mlflow wandb optuna"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS, KILLED_AT = 200, 110

LOOP = """
import os, signal, sys
life, start = int(sys.argv[1]), {start}
print("second start begins with step", start + 1 if life == 2 else None, flush=True)
weight = 0.0
for step in range(start + 1, {steps} + 1):
    weight -= 0.02 * (weight - 3)
    {report}
    if life == 1 and step == {killed_at}:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def program(before, start, report, after=""):
    return before + LOOP.format(start=start, report=report, steps=STEPS, killed_at=KILLED_AT) + after


DETCORE = """
from array import array
from detcore import core
context = core.init(external_id="rival").__enter__()
weight = array("d", [0.0])
""" + LOOP.format(start='context.checkpoint.load_state({"weight": weight})', steps=STEPS, killed_at=KILLED_AT,
                  report="""context.train.report_training_metrics(step, {"loss": (weight[0] - 3) ** 2})
    if step % 50 == 0: context.checkpoint.save_state(step, {"weight": weight})""").replace(
                      "weight = 0.0\n", "").replace("weight -= 0.02 * (weight - 3)", "weight[0] -= 0.02 * (weight[0] - 3)") + """
context.__exit__(None, None, None)
"""

MLFLOW = program("""
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.start_run()
""", "0", 'mlflow.log_metric("loss", (weight - 3) ** 2, step=step)', "mlflow.end_run()\n")

MLFLOW_LOOK = """
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
client = mlflow.MlflowClient()
for run in client.search_runs(["0"], order_by=["attributes.start_time"]):
    print(run.info.status, len(client.get_metric_history(run.info.run_id, "loss")), "reports")
"""

WANDB = program("""
import wandb
run = wandb.init(project="rival", mode="offline", id="rival", resume="allow")
""", "run.step", 'run.log({"loss": (weight - 3) ** 2}, step=step)', "run.finish()\n")

# Its file is a log of blocks of 32 KiB, as LevelDB has them: a checksum, a length and a kind before each piece.
WANDB_LOOK = """
import glob, struct
from wandb.proto import wandb_internal_pb2 as records
for path in sorted(glob.glob("wandb/offline-run-*/*.wandb")):
    data, at, record, kinds = open(path, "rb").read(), 7, b"", []
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            kinds.append(records.Record.FromString(record).WhichOneof("record_type"))
            record = b""
    print("ended" if "exit" in kinds else "not ended", kinds.count("history"), "reports")
"""

OPTUNA = program("""
import optuna
study = optuna.create_study(study_name="rival", storage="sqlite:///optuna.db", load_if_exists=True)
trial = study.ask()
""", "0", 'trial.report((weight - 3) ** 2, step)', "study.tell(trial, (weight - 3) ** 2)\n")

OPTUNA_LOOK = """
import optuna
study = optuna.load_study(study_name="rival", storage="sqlite:///optuna.db")
for trial in study.trials:
    print(trial.state.name, len(trial.intermediate_values), "reports")
"""


def run(command, place, environment):
    return subprocess.run(command, cwd=place, env=environment, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def attempt(name, python, text, look, environment):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = os.environ | {"HOME": folder, "WANDB_SILENT": "true"} | environment
        (place / "train.py").write_text(text)
        first = run([python, "train.py", "1"], place, environment)
        if first.returncode != -9:
            raise SystemExit(f"{name}: the first start was not killed, but left with {first.returncode}:\n{first.stdout}")
        kept = run(look, place, environment).stdout.strip()
        second = run([python, "train.py", "2"], place, environment)
        begins = re.search(r"second start.*", second.stdout)
        left = run(look, place, environment).stdout.strip()
        print(f"{name}, killed after step {KILLED_AT}: {kept}; {begins[0] if begins else second.stdout}, "
              f"left with {second.returncode}: {left}".replace("\n", ", "), flush=True)


def main():
    others, prefix = sys.argv[1:3]
    prefix = Path(prefix).resolve()
    libraries = next(prefix.glob("lib/**/libdetcore.so")).parent
    package = Path(__file__).resolve().parents[2] / "wrappers/python"
    mine = {"LD_LIBRARY_PATH": str(libraries), "PYTHONPATH": str(package)}
    attempt("detcore", sys.executable, DETCORE,
            ["sh", "-c", f"{prefix}/bin/det sync >/dev/null; echo $({prefix}/bin/det ls | awk 'NR == 2 {{ print $4 }}')"
             f" $({prefix}/bin/det metrics 1 loss --csv | tail -n +2 | wc -l) reports"], mine)
    for name, text, look in (("MLflow", MLFLOW, MLFLOW_LOOK), ("W&B, offline", WANDB, WANDB_LOOK),
                             ("Optuna", OPTUNA, OPTUNA_LOOK)):
        attempt(name, others, text, [others, "-c", look], {})


main()
