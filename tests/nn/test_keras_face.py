"""Trials through det/keras.h: what det::keras does with the same trial, killed and gone on with, over ranks and in a
search.

usage: test_keras_face.py TRIAL MPIRUN TRIAL_IN_CPP DET. Says so in TAP."""

import json
import os
import subprocess
import tempfile

import trial_runs
from trial_runs import arguments, finished, mpirun, ranks, tell, train

in_cpp, det = (os.path.abspath(argument) for argument in arguments)


def lines_of(program, *before, **environment):
    """Of a program in a new home."""
    own, trial_runs.program = trial_runs.program, program
    try:
        with tempfile.TemporaryDirectory() as home:
            return finished(home, *before, **environment)
    finally:
        trial_runs.program = own


def is_as_in_cpp(*before, **environment):
    found = lines_of(trial_runs.program, *before, **environment)
    expected = lines_of(in_cpp, *before, **environment)
    assert found == expected, (environment, found, expected)
    return found


def trains_as_in_cpp():
    lines = is_as_in_cpp()
    assert "checkpoint_end" in lines and lines[-1].startswith("weight "), lines
    for data in "sequence", "workers":
        is_as_in_cpp(DATA=data)
    weighted = is_as_in_cpp(IN_ORDER="1", CLASS_WEIGHT="1")
    assert weighted != is_as_in_cpp(IN_ORDER="1")
    is_as_in_cpp(BEST="1")
    is_as_in_cpp(STOP_AFTER_BATCH="3")


def goes_on_after_a_kill_as_if_there_was_none(*before, batches=(1, 3, 6, 9), **environment):
    whole = lines_of(trial_runs.program, *before, **environment)
    for batch in batches:
        with tempfile.TemporaryDirectory() as home:
            code, killed, _ = train(home, *before, DIE_AFTER_BATCH=str(batch), **environment)
            assert code != 0 and "train_end" not in killed, (code, killed)
            after = finished(home, *before, **environment)
        assert ("load_state" in after) == (batch > 2), after
        rest = after[after.index("train_begin") + 1 + (batch > 2):]
        assert whole[-len(rest):] == rest, f"killed in batch {batch}: {rest}"


def goes_on_within_sequences():
    for data in "sequence", "workers":
        goes_on_after_a_kill_as_if_there_was_none(batches=(3, 7), DATA=data)


def tests_one_batch():
    rate = {"type": "double", "minval": 0.1, "maxval": 0.2}
    config = {"hyperparameters": {"global_batch_size": 8, "learning_rate": rate},
              "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 9}}}
    with tempfile.TemporaryDirectory() as home:
        file = os.path.join(home, "config.json")
        with open(file, "w") as written:
            json.dump(config, written)
        lines = finished(home, program_arguments=("--test", "--config", file))
        assert lines[:4] == ["train_begin", "epoch_begin 0", "workload_begin 0 1", "batch_end 0"], lines
        assert sorted(os.listdir(home)) == ["config.json"], os.listdir(home)
        code, _, errors = train(home, program_arguments=("--test", "--config", file), REFUSE="0")
        assert code == 1 and errors.endswith("the hyperparameters cannot be trained: too fast\n"), errors
        for given, why in (("--config",), "--config needs a value after it"), (("--config", "none"), "no such file"):
            code, _, errors = train(home, program_arguments=given)
            assert code == 1 and why in errors, errors


def searches_without_those_that_cannot_be_trained():
    config = {"name": "face", "entrypoint": os.path.abspath(trial_runs.program),
              "hyperparameters": {"global_batch_size": 8, "learning_rate": {"type": "categorical", "vals": [0.1, 0.2]}},
              "searcher": {"name": "grid", "metric": "val_loss", "max_length": {"batches": 4}}}
    with tempfile.TemporaryDirectory() as home:
        given = {"env": {**os.environ, "DET_HOME": home, "REFUSE": "0.15"}, "text": True, "cwd": home,
                 "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        run = subprocess.run([det, "run", "-"], input=json.dumps(config), **given)
        trials = [json.loads(line) for line in subprocess.run([det, "ls", "--json"], **given).stdout.splitlines()]
        assert run.returncode == 0, run.stdout
        assert sorted(trial["steps_completed"] for trial in trials) == [0, 4], trials
        assert {trial["state"] for trial in trials} == {"COMPLETED"}, trials


def ranks_train_as_in_cpp():
    is_as_in_cpp(*ranks(2), DATA="sequence")


def ranks_go_on_after_a_kill():
    goes_on_after_a_kill_as_if_there_was_none(*ranks(2), batches=(3, 6))


checks = [trains_as_in_cpp, goes_on_after_a_kill_as_if_there_was_none, goes_on_within_sequences, tests_one_batch,
          searches_without_those_that_cannot_be_trained]
if mpirun:
    checks += [ranks_train_as_in_cpp, ranks_go_on_after_a_kill]
tell(checks)
