#!/usr/bin/env python3
"""The first hour: commands and seconds to a first metric and to a first plot, here and with others, in one
run. usage: first_hour.py SOURCE_DIRECTORY. The others are installed from the package index, each into a new
virtual environment, and do what their quick starts say. Here and there a command is what a person types in a
terminal; writing the program is not counted, and what is a page in a browser counts as seen once its data can
be fetched. Prints a table."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

TRAIN = """\
weight, loss = 0.0, 9.0
for step in range(1, 101):
    weight -= 0.2 * (weight - 3)
    loss = (weight - 3) ** 2
    {report}
"""

MLFLOW = "import mlflow\nwith mlflow.start_run():\n" + "".join(
    "    " + line + "\n"
    for line in TRAIN.format(report="mlflow.log_metric('loss', loss, step=step)").splitlines())
WANDB = "import wandb\nrun = wandb.init(project='first', mode='offline')\n" + TRAIN.format(
    report="run.log({'loss': loss})") + "run.finish()\n"
AIM = "import aim\nrun = aim.Run()\n" + TRAIN.format(
    report="run.track(loss, name='loss', step=step)") + "run.close()\n"
OPTUNA = """\
import optuna
from optuna.visualization.matplotlib import plot_optimization_history
study = optuna.create_study()
study.optimize(lambda trial: (trial.suggest_float('weight', -10, 10) - 3) ** 2, n_trials=100)
print('loss', study.best_value)
plot_optimization_history(study).figure.savefig('plot.png')
"""


def run(command, directory, environment):
    done = subprocess.run(command, shell=True, cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


@contextmanager
def server(command, directory, environment):
    process = subprocess.Popen(command.split(), cwd=directory, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def fetch(url, give_up=120):
    for _ in range(give_up * 20):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read()
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"{url} does not answer")


class Tool:
    """What it takes to install, then to see a metric, then a plot: commands, and seconds."""

    def __init__(self, name, install, program, use, metric, plot, look=None):
        self.name, self.install, self.program, self.use = name, install, program, use
        self.metric, self.plot, self.look = metric, plot, look

    def measure(self, directory):
        # As for somebody who has none of it, with the machine's own Python and compiler.
        environment = {"PATH": f"{directory}/venv/bin:{directory}/prefix/bin:{os.environ['PATH']}",
                       "HOME": str(directory), "LANG": "C.UTF-8", "CCACHE_DISABLE": "1",
                       "PKG_CONFIG_PATH": f"{directory}/prefix/lib/pkgconfig"}
        for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "PYENV_VERSION"):
            if name in os.environ:
                environment[name] = os.environ[name]
        started = time.monotonic()
        for command in self.install:
            run(command, directory, environment)
        self.installed = time.monotonic() - started
        if self.program:
            name, text = self.program
            (directory / name).write_text(text)
        started = time.monotonic()
        output = ""
        for command in self.use:
            output += run(command, directory, environment)
        if self.look:
            command, url = self.look
            with server(command, directory, environment):
                fetch(url)
        self.seen = time.monotonic() - started
        if not self.look and not re.search(r"loss|accuracy", output):
            raise RuntimeError(f"{self.name} has shown no metric: {output[-500:]}")

    def commands(self):
        return len(self.install) + len(self.use) + (1 if self.look else 0)


def tools(source):
    venv = "python3 -m venv venv"
    # Without the pause in which a person can stop it: the others have none.
    minimal = re.sub(r".*thrd_sleep.*\n", "", (source / "examples/c/minimal.c").read_text())
    return [
        Tool("detcore, its example", [], None, [f"git clone -q {source} detcore", "detcore/run"],
             "printed", "drawn in the terminal"),
        Tool("detcore, a program of one's own",
             [f"git clone -q {source} detcore",
              "meson setup detcore/build detcore --prefix $HOME/prefix --libdir lib",
              "ninja -C detcore/build install"],
             ("minimal.c", minimal),
             ["cc minimal.c $(pkg-config --cflags --libs detcore)"
              " -Wl,-rpath,$HOME/prefix/lib -o minimal && ./minimal", "det plot 1 loss"],
             "det plot", "drawn in the terminal"),
        Tool("MLflow", [venv, "pip install -q mlflow"], ("train.py", MLFLOW), ["python train.py"],
             "browser", "browser", ("mlflow ui --port 5151", "http://127.0.0.1:5151/")),
        Tool("W&B, offline", [venv, "pip install -q wandb"], ("train.py", WANDB),
             ["python train.py"], "printed", "one line of blocks"),
        Tool("Aim", [venv, "pip install -q aim"], ("train.py", AIM), ["aim init", "python train.py"],
             "browser", "browser", ("aim up --port 5152", "http://127.0.0.1:5152/")),
        Tool("Optuna", [venv, "pip install -q optuna matplotlib"], ("train.py", OPTUNA),
             ["python train.py"], "printed", "PNG file"),
    ]


def main():
    source = Path(sys.argv[1]).resolve()
    print(f"{'':34}{'commands':>9}{'install':>10}{'then':>9}   metric, plot")
    measured = []
    for tool in tools(source):
        directory = Path(tempfile.mkdtemp(prefix="first-hour-"))
        try:
            tool.measure(directory)
            measured.append(tool)
            print(f"{tool.name:34}{tool.commands():>9}{tool.installed:>9.1f}s{tool.seen:>8.1f}s"
                  f"   {tool.metric}, {tool.plot}", flush=True)
        except RuntimeError as failure:
            print(f"{tool.name:34} could not be measured: {failure}", flush=True)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    own = next((tool for tool in measured if tool.program and tool.program[0] == "minimal.c"), None)
    for tool in measured:
        if own and not tool.name.startswith("detcore"):
            print(f"once installed, {tool.name} takes {tool.seen / own.seen:.1f} times as long to a plot")


if __name__ == "__main__":
    main()
