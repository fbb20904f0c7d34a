"""Programs of trials in C++: what they are told on the command line and by signals, one batch of everything, trials
by their names, estimators without a class, and what TensorBoard shows.

usage: test_trial_programs.py PROGRAM MPIRUN. Says so in TAP."""

import json
import os
import pathlib
import tempfile

from event_files import summaries
from trial_runs import finished, mpirun, ranks, tell, train

CONFIG = """
searcher: {name: single, metric: val_loss, max_length: {batches: 8}}
hyperparameters: {global_batch_size: 3, learning_rate: 0.001}
scheduling_unit: 4
min_validation_period: {batches: 4}
"""


def run(*arguments, config=CONFIG, before=(), **environment):
    """In a new home: the exit status, the lines, what is said of errors, and what is left in the home."""
    with tempfile.TemporaryDirectory() as home:
        file = pathlib.Path(home, "config.yaml")
        file.write_text(config)
        given = [str(file) if argument == "FILE" else argument for argument in arguments]
        temporary = pathlib.Path(home, "tmp")
        temporary.mkdir()
        code, lines, errors = train(f"{home}/store", *before, program_arguments=given, TMPDIR=str(temporary), **environment)
        assert not list(temporary.glob("det-*")), "a directory is left"
        return code, lines, errors, sorted(path.name for path in pathlib.Path(home).iterdir())


def tests_one_batch_of_everything():
    code, lines, errors, left = run("RampTrial", "--config", "FILE", "--test")
    assert code == 0 and lines[:2] == ["workload 0 of 1", "tested 0"] and len(lines) == 3, (lines, errors)
    assert lines[2].startswith("checkpoint in ") and not os.path.exists(lines[2].split()[2]), lines
    assert left == ["config.yaml", "tmp"], left
    code, lines, errors, _ = run("LinearTrial", "--test")
    assert code == 0 and lines == ["trained", "evaluated"], (lines, errors)


def draws_hyperparameters_to_test_with():
    drawn = CONFIG.replace("0.001", "{type: double, minval: 0.1, maxval: 0.2}")
    code, lines, errors, _ = run("RampTrial", "--test", "--config", "FILE", config=drawn)
    assert code == 0 and len(lines) == 3, errors
    code, lines, errors, _ = run("RampTrial", "--test", "--config", "FILE", config=CONFIG.replace("0.001", "2"))
    assert code == 1 and errors.endswith("too fast\n") and not lines, (lines, errors)


def trains_by_the_configuration_of_a_file():
    code, lines, errors, left = run("RampTrial", "--config", "FILE")
    assert code == 0 and [line for line in lines if "workload" in line] == ["workload 0 of 4", "workload 4 of 4"], (lines, errors)
    assert "store" in left, left


def saves_and_leaves_at_a_signal():
    with tempfile.TemporaryDirectory() as home:
        file = pathlib.Path(home, "config.yaml")
        file.write_text(CONFIG.replace("batches: 8", "batches: 40000").replace("{batches: 4}", "{batches: 0}"))
        given = ("RampTrial", "--config", str(file), "--external-id", "digits")
        first = finished(home, program_arguments=given, LEAVE="1")
        assert first[-1].startswith("checkpoint in ") and len(first) < 10000, first[-3:]
        rest = finished(home, program_arguments=given, LEAVE="1")
        assert rest[0] == f"workload {4 * (len(first) - 1)} of 4", (first[-2:], rest[0])


def refuses_arguments_that_mean_nothing():
    for arguments, why in ((("RampTrial", "--config"), "--config needs a value after it"),
                           (("RampTrial", "--config", "nowhere.yaml"), "'nowhere.yaml': no such file"),
                           (("RampTrial", "--config", "FILE", "--external-id"), "--external-id needs a value"),
                           (("RumpTrial",), "there is no trial 'RumpTrial'; there are LinearTrial, RampTrial"),
                           ((), "name a trial; there are LinearTrial, RampTrial")):
        code, lines, errors, _ = run(*arguments)
        assert code == 1 and why in errors and not lines, f"{arguments}: {errors}"
    for config, why in ((CONFIG.replace("searcher", "seracher"), "seracher"), ("a: [", "config.yaml"),
                        (CONFIG.replace("global_batch_size: 3, ", ""), "global_batch_size")):
        for more in (), ("--test",):
            code, lines, errors, _ = run("RampTrial", "--config", "FILE", *more, config=config)
            assert code == 1 and why in errors and not lines, f"{config}: {errors}"


def looks_at_a_trial_by_hand():
    code, lines, errors, left = run("look")
    assert code == 0 and lines == ['{"digits":10} drawn 1 0 1'], (lines, errors)
    assert left == ["config.yaml", "tmp"], left


def knows_checkpoints_of_its_trials():
    with tempfile.TemporaryDirectory() as home:
        file = pathlib.Path(home, "config.yaml")
        file.write_text(CONFIG + "min_checkpoint_period: {batches: 4}")
        given = ("--config", str(file), "--external-id", "digits")
        code, _, errors = train(home, program_arguments=("RampTrial", *given), FAIL="1")
        assert code == 1 and errors.endswith("failed\n"), errors
        (checkpoint,) = (path.parent for path in pathlib.Path(home).glob("*/load_data.json"))
        said = json.loads((checkpoint / "load_data.json").read_text())
        assert said["trial_type"] == "det::keras::Trial" and said["hparams"]["learning_rate"] == 0.001, said
        assert said["experiment_config"]["scheduling_unit"] == 4, said
        assert finished(home, program_arguments=("load", str(checkpoint))) == ["dense/kernel"]
        code, _, errors = train(home, program_arguments=("LinearTrial", *given))
        assert code == 1 and "it is of det::keras::Trial, and not of det::estimator::Trial" in errors, errors
        for text, why in ("{", "it is no JSON"), ('{"trial_type": 3}', "it is of something else"):
            (checkpoint / "load_data.json").write_text(text)
            code, _, errors = train(home, program_arguments=("load", str(checkpoint)))
            assert code == 1 and why in errors, errors
        code, _, errors = train(home, program_arguments=("load", home))
        assert code == 1 and "it has no load_data.json" in errors, errors


def trains_an_estimator_without_a_class():
    code, lines, errors, _ = run("try")
    assert code == 0 and lines == ["trained", "evaluated", "served"] * 2, (lines, errors)
    code, lines, errors, _ = run("native")
    assert code == 1 and errors.endswith("a program trains once\n"), errors
    assert lines == ["trained"] * 4 + ["served"] + ["evaluated"] * 4, lines


def prints_progress():
    config = CONFIG.replace("{batches: 4}", "{batches: 20}").replace("batches: 8", "batches: 40").replace("unit: 4", "unit: 20")
    _, lines, errors, _ = run("RampTrial", "--config", "FILE", config=config, FIT="verbose")
    said = [line.split(":")[0] + ":" + line.split(":")[1] for line in lines if "% complete" in line]
    # Of 20 batches each second one is a tenth.
    expected = [f"total batches trained: {total + done}, workload {5 * done}% complete ({done}/20)"
                for total in (0, 20) for done in range(0, 21, 2)]
    # How long a validation is, is not known in the first one.
    expected += [f"validation after batch: 40, validation {25 * done}% complete ({done}/4)" for done in range(5)]
    assert said == expected, (said, errors)
    assert ": loss " in [line for line in lines if "(20/20)" in line][0], lines
    assert not [line for line in run("RampTrial", "--config", "FILE", FIT="quiet")[1] if "%" in line]


def shows_metrics_and_weights_in_tensorboard():
    with tempfile.TemporaryDirectory() as home:
        file = pathlib.Path(home, "config.yaml")
        file.write_text(CONFIG.replace("batches: 8", "batches: 12")+ "min_checkpoint_period: {batches: 4}")
        given = ("RampTrial", "--config", str(file), "--external-id", "digits")
        code, _, errors = train(home, program_arguments=given, FAIL="1")
        assert code == 1 and errors.endswith("failed\n"), errors
        finished(home, program_arguments=given)
        found = summaries(home)
    steps = {}
    for tag, step, number in found:
        steps.setdefault(tag, []).append(step)
        assert (number is None) == tag.startswith(("dense/", "_hparams_/")), (tag, number)
    # What came behind the checkpoint came in vain.
    expected = {"Determined/loss": list(range(12)), "Determined/val_loss": [4, 8, 12],
                "batch_loss": [2, 4, 6, 8, 10, 12], "epoch_loss": [0, 1, 2], "epoch_learning_rate": [0, 1, 2],
                "evaluation_val_loss_vs_iterations": [4, 8, 12], "dense/kernel": [0, 2], "dense/bias": [0, 2]}
    for tag, where in expected.items():
        assert sorted(steps.get(tag, [])) == where, (tag, steps)


def warns_of_records_that_cannot_be_divided():
    code, _, errors, _ = run("RampTrial", "--config", "FILE", before=ranks(2))
    assert code == 0 and errors.count("warning: ") == 1 and "2" in errors.split("warning: ")[1], errors


checks = [tests_one_batch_of_everything, draws_hyperparameters_to_test_with, trains_by_the_configuration_of_a_file,
          saves_and_leaves_at_a_signal, refuses_arguments_that_mean_nothing, looks_at_a_trial_by_hand,
          knows_checkpoints_of_its_trials,
          trains_an_estimator_without_a_class, prints_progress, shows_metrics_and_weights_in_tensorboard]
if mpirun:
    checks.append(warns_of_records_that_cannot_be_divided)
tell(checks)
