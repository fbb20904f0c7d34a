"""Scripts written against determined, under detcore.compat."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from detcore.compat.launch import horovod

SPELLINGS = [
    "import determined as det\ncontext = det.core.init()",
    "import determined as det\nfrom determined import core\ncontext = core.init()",
    "from determined import core\nassert core.Context\ncontext = core.init()",
    "import determined.core\ncontext = determined.core.init()",
    "import determined as det\nassert det.core.DistributedContext\ncontext = det.core.init()",
]
TRAINING = """
assert context.__class__.__module__.startswith("detcore.")
with context as core_context:
    core_context.train.report_training_metrics(1, {"loss": 0.5})
print("done")
"""


def run(
    folder: Path, text: str, *arguments: str, module: bool = True
) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(text)
    runner = ["-m", "detcore.compat"] if module else []
    command = [sys.executable, *runner, str(script), *arguments]
    environment = dict(os.environ, DET_HOME=str(folder / "store"))
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings(tmp_path: Path, spelling: str) -> None:
    done = run(tmp_path, spelling + TRAINING)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_one_line_instead_of_the_command(tmp_path: Path) -> None:
    done = run(tmp_path, "import detcore.compat\n" + SPELLINGS[0] + TRAINING, module=False)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_the_script_sees_its_own_arguments_and_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("here = True\n")
    done = run(
        tmp_path,
        "import sys, beside\nif __name__ == '__main__': print(sys.argv[1:], beside.here, __file__)",
        "--rate",
        "0.1",
    )
    assert done.stdout == f"['--rate', '0.1'] True {tmp_path / 'script.py'}\n", done.stderr


def test_its_exit_status_is_kept(tmp_path: Path) -> None:
    assert run(tmp_path, "import sys; sys.exit(7)").returncode == 7
    failed = run(tmp_path, "raise KeyError('why')")
    assert failed.returncode == 1
    assert "KeyError: 'why'" in failed.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "import determined.pytorch",
        "from determined import pytorch",
        "import determined.pytorch.dsat",
        "from determined.pytorch import PyTorchTrial",
    ],
)
def test_what_is_not_covered_is_named(tmp_path: Path, statement: str) -> None:
    done = run(tmp_path, statement)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert "determined." in last
    assert "is not covered by detcore" in last or "cannot import name" in last


def test_an_attribute_that_is_not_covered_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "import determined as det\ndet.pytorch")
    assert "AttributeError: determined.pytorch is not covered by detcore" in done.stderr


def test_children_run_under_it_too(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "import subprocess, sys, multiprocessing\n"
        "def child():\n"
        "    import determined as det\n"
        "    print('spawned', det.core.__name__, flush=True)\n"
        "if __name__ == '__main__':\n"
        "    program = 'from determined import core; print(core.__name__)'\n"
        "    subprocess.run([sys.executable, '-c', program])\n"
        "    process = multiprocessing.get_context('spawn').Process(target=child)\n"
        "    process.start()\n"
        "    process.join()\n",
    )
    assert done.stdout.splitlines() == ["detcore.core", "spawned detcore.core"], done.stderr


def test_where_the_original_is_imported_already_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "determined.py").write_text("")
    done = run(tmp_path, "import determined\nimport detcore.compat", module=False)
    assert "ImportError: determined is imported already" in done.stderr
    assert "import detcore.compat before it" in done.stderr


def test_the_errors_of_the_original(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "from determined.common.api import errors\n"
        "from determined.experimental import client\n"
        "from determined import core\n"
        "with core.init() as context:\n"
        "    try:\n"
        "        context.checkpoint.get_metadata('11111111-2222-4333-8444-555555555555')\n"
        "    except errors.NotFoundException as error:\n"
        "        print('not found')\n",
    )
    assert done.stdout == "not found\n", done.stderr


def test_names_of_the_original(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "from determined.common import api\n"
        "from determined.experimental import Checkpoint, Determined, client\n"
        "from determined.experimental.client import Determined as Same\n"
        "from determined.experimental import test_one_batch\n"
        "import determined as det\n"
        "assert issubclass(det.Trial, object) and det.TrialController\n"
        "print(api.errors.APIException.__name__, Determined is Same)\n"
        "client.create_webhook\n",
    )
    assert done.stdout == "Error True\n", done.stderr
    assert "determined.experimental.client.create_webhook is not covered" in done.stderr


def test_invalid_hp(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "import determined as det\n"
        "with det.core.init() as context:\n"
        "    raise det.InvalidHP('too deep')\n",
    )
    assert done.returncode == 0, done.stderr


def test_code_from_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "model.py").write_text("kind = 'kept'\n")
    (tmp_path / "model.py").write_text("kind = 'now'\n")
    done = run(
        tmp_path,
        "import determined as det, model\n"
        "with det.import_from_path('kept'):\n"
        "    import model as kept\n"
        "import model as again\n"
        "print(kept.kind, model.kind, again.kind)\n",
    )
    assert done.stdout == "kept now now\n", done.stderr


TRIAL = [sys.executable, "-m", "detcore.trial", "model_def:Trial"]


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        (["--trial", "model_def:Trial"], TRIAL),
        (["--autohorovod", "--trial", "model_def:Trial"], TRIAL),
        (["--trial=model_def:Trial"], TRIAL),
        (["--cycle-time-ms", "1", "--", "--trial", "model_def:Trial"], TRIAL),
        (["train.py", "--", "--rate"], [sys.executable, "train.py", "--", "--rate"]),
        (["-v", "--", "sh", "-c", "train"], ["sh", "-c", "train"]),
    ],
)
def test_a_launcher_starts_what_a_rank_runs(arguments: list[str], program: list[str]) -> None:
    assert horovod.program_of(arguments) == program


@pytest.mark.parametrize("arguments", [[], ["--trial"], ["--trail", "a:B"], ["--cycle-time-ms"]])
def test_a_launcher_without_a_program(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="usage"):
        horovod.program_of(arguments)


def test_a_launcher_configures_horovod(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USE_HOROVOD", "HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOROVOD_AUTOTUNE", "0")
    options: dict[str, object] = {"tensor_fusion_threshold": 2, "auto_tune_tensor_fusion": True}
    options["tensor_fusion_cycle_time"] = None
    config = {"optimizations": options}
    info = types.SimpleNamespace(trial=types.SimpleNamespace(config=config))
    monkeypatch.setattr(horovod, "get_cluster_info", lambda: info)
    horovod.ask_for_horovod()
    assert (os.environ["USE_HOROVOD"], os.environ["HOROVOD_FUSION_THRESHOLD"]) == ("1", "2097152")
    assert os.environ["HOROVOD_AUTOTUNE"] == "0"
    assert "HOROVOD_CYCLE_TIME" not in os.environ
