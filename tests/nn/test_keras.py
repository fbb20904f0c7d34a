"""Trials of det::keras: hooks in the order of the reference, killed and gone on with, and over ranks.

usage: test_keras.py TRIAL MPIRUN. Says so in TAP."""

import json
import tempfile

from trial_runs import finished, mpirun, ranks, tell, train


def of_numbers(lines):
    """The numbers at the end of a run, and of its validations."""
    return {line.split()[1]: [float.fromhex(n) for n in line.split()[2:]] for line in lines if line.startswith("weight ")}


def hooks(lines):
    return [line for line in lines if not line.startswith(("weight ", "loss ", "val_loss "))]


def begins_as_the_reference():
    with tempfile.TemporaryDirectory() as home:
        found = hooks(finished(home))
    assert found[:18] == [
        "train_begin", "epoch_begin 0", "workload_begin 0 2", "batch_end 0", "batch_end 1", "workload_end 2",
        "checkpoint_end", "workload_begin 2 2", "batch_end 2", "epoch_end 0", "epoch_begin 1", "batch_end 0",
        "workload_end 4", "test_end", "checkpoint_end", "workload_begin 4 2", "batch_end 1", "batch_end 2"], found
    assert found[-1] == "train_end", found


def goes_on_after_a_kill_as_if_there_was_none(batches=(1, 3, 6, 9), count=1, **environment):
    def before():
        return ranks(count) if count > 1 else ()

    with tempfile.TemporaryDirectory() as home:
        whole = finished(home, *before(), **environment)
    for batch in batches:
        with tempfile.TemporaryDirectory() as home:
            code, before_it, _ = train(home, *before(), DIE_AFTER_BATCH=str(batch), **environment)
            assert code == -9 if count == 1 else code != 0, code
            after = finished(home, *before(), **environment)
        assert "train_end" not in before_it
        assert ("load_state" in after) == (batch > 2), after
        assert of_numbers(after) == of_numbers(whole), f"killed in batch {batch}"
        told = [line for line in whole if line.startswith(("loss ", "val_loss "))]
        again = [line for line in after if line.startswith(("loss ", "val_loss "))]
        assert told[-len(again):] == again, f"killed in batch {batch}"


def gives_back_the_best_weights_after_a_kill():
    goes_on_after_a_kill_as_if_there_was_none((6,), BEST="1")
    with tempfile.TemporaryDirectory() as home:
        assert hooks(finished(home, BEST="1"))[-3:] == ["test_end", "checkpoint_end", "train_end"]
    assert weights_of(BEST="1") != weights_of()


def goes_on_where_learning_rates_were():
    schedule = {"class_name": "ExponentialDecay",
                "config": {"initial_learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5}}
    older = {"class_name": "SGD", "module": "keras.optimizers.legacy", "config": {"learning_rate": 0.1, "decay": 0.5}}
    for optimizer in {"class_name": "Adam", "config": {"learning_rate": schedule}}, older:
        goes_on_after_a_kill_as_if_there_was_none((6,), OPTIMIZER=json.dumps(optimizer))


def goes_on_within_the_data_of_every_kind():
    for data in ("workers", "dataset", "shuffled"):
        goes_on_after_a_kill_as_if_there_was_none((3, 7), DATA=data)


def goes_on_with_what_is_left_out_by_chance():
    goes_on_after_a_kill_as_if_there_was_none((3, 6), LEAVES_OUT="1")


def weights_of(**environment):
    with tempfile.TemporaryDirectory() as home:
        return of_numbers(finished(home, **environment))


def trains_alike_with_data_of_every_kind():
    arrays = weights_of(IN_ORDER="1")
    assert weights_of(IN_ORDER="1", DATA="dataset") == arrays
    assert weights_of(IN_ORDER="1", UNBUILT="1") == arrays
    assert weights_of(DATA="workers") == weights_of(DATA="sequence")
    assert weights_of(DATA="shuffled") != arrays
    assert weights_of(IN_ORDER="1", CLASS_WEIGHT="1") != arrays


def takes_inputs_by_their_names():
    assert weights_of(INPUTS="by name") == weights_of(INPUTS="in order")
    with tempfile.TemporaryDirectory() as home:
        code, _, errors = train(home, INPUTS="misnamed")
    assert code == 1 and "it has no feature 'second'; it has 'first', 'last', 'unused'" in errors, errors


def refuses_a_dataset_that_is_not_wrapped():
    with tempfile.TemporaryDirectory() as home:
        code, _, errors = train(home, DATA="unwrapped")
    assert code == 1 and "wrap_dataset()" in errors, errors


def refuses_records_that_are_not_batched():
    with tempfile.TemporaryDirectory() as home:
        code, lines, errors = train(home, DATA="records")
    assert code == 1 and ".batch(context().get_per_slot_batch_size())" in errors and not lines, errors
    with tempfile.TemporaryDirectory() as home:
        assert "train_end" in finished(home, DATA="generated")


def refuses_a_model_without_an_optimizer():
    with tempfile.TemporaryDirectory() as home:
        code, lines, errors = train(home, OPTIMIZER="")
    assert code == 1 and "optimizer" in errors and not lines, errors


def refuses_data_that_cannot_be_trained_with():
    for data, why in (("short", "a batch of 8 records is more than there are (3)"), ("empty", "there are no elements in it"),
                      ("empty to validate with", "there are no batches to validate with"),
                      ("changing", "inputs may differ in their batch, not in their features"),
                      ("raising", "no such file: digits-3.png")):
        with tempfile.TemporaryDirectory() as home:
            code, lines, errors = train(home, DATA=data)
        assert code == 1 and why in errors and "train_end" not in lines, f"{data}: {errors}"


def adds_gradients_up():
    def numbers(learning_rate, **optimizations):
        config = {"optimizations": {"aggregation_frequency": 4, **optimizations},
                  "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 4}}}
        plain = {"class_name": "SGD", "config": {"learning_rate": learning_rate}}
        weights = weights_of(IN_ORDER="1", CONFIG=json.dumps(config), OPTIMIZER=json.dumps(plain))
        return [number for name in sorted(weights) for number in weights[name]]

    sums, means = numbers(0.25, average_aggregated_gradients=False), numbers(1)
    assert numbers(0.25) != sums
    assert all(abs(one - other) < 1e-6 for one, other in zip(sums, means)), (sums, means)


def tells_of_a_loss_that_is_no_number():
    fast = {"class_name": "SGD", "config": {"learning_rate": 3e38}}
    with tempfile.TemporaryDirectory() as home:
        lines = finished(home, OPTIMIZER=json.dumps(fast))
    told = [line for line in lines if line.startswith(("loss ", "val_loss "))]
    assert told and all(line.endswith("nan") for line in told) and lines[-1].startswith("weight "), lines


def stops_behind_a_checkpoint():
    for before in [(), ranks(2)] if mpirun else [()]:
        with tempfile.TemporaryDirectory() as home:
            lines = hooks(finished(home, *before, STOP_IN_CHECKPOINT="1"))
        assert lines[-3:] == ["workload_end 2", "checkpoint_end", "train_end"], lines


def validates_before_it_trains():
    with tempfile.TemporaryDirectory() as home:
        found = hooks(finished(home, CONFIG=json.dumps({"perform_initial_validation": True})))
    assert found[:4] == ["train_begin", "test_end", "epoch_begin 0", "workload_begin 0 2"], found


def ranks_go_on_after_one_was_killed():
    for rank, data in ("0", "arrays"), ("1", "dataset"):
        goes_on_after_a_kill_as_if_there_was_none((3, 6), count=2, DIE_RANK=rank, DATA=data, NORMALIZED="1")


def ranks_stop_together():
    for rank in "0", "1":
        with tempfile.TemporaryDirectory() as home:
            lines = hooks(finished(home, *ranks(2), STOP_AFTER_BATCH="3", STOP_RANK=rank))
        assert lines[-3:] == ["workload_end 4", "checkpoint_end", "train_end"], (rank, lines)


def ranks_need_data_each():
    for data, why in (("few", "an epoch of 1 batches is too short for 2 shards"),
                      ("one to validate with", "the trial ends on rank 1: validating a trial: there are no batches to validate with on rank 1; "
                                               "each of 2 ranks needs one"), ("raising", "digits-3.png")):
        with tempfile.TemporaryDirectory() as home:
            code, _, errors = train(home, *ranks(2), DATA=data)
        assert code != 0 and why in errors, f"{data}: {errors}"
        assert data != "one to validate with" or errors.count("on rank 1; each of 2 ranks") == 1, errors


def ranks_train_as_one_process():
    runs = []
    for count, data in ((1, "arrays"), (2, "arrays"), (2, "dataset"), (4, "arrays")):
        with tempfile.TemporaryDirectory() as home:
            runs.append(finished(home, *ranks(count), IN_ORDER="1", DATA=data))
    for lines in runs[1:]:
        assert hooks(lines) == hooks(runs[0]), hooks(lines)
        for name, numbers in of_numbers(runs[0]).items():
            for one, other in zip(numbers, of_numbers(lines)[name]):
                assert abs(one - other) < 1e-5, f"{name}: {one}, {other}"


checks = [begins_as_the_reference, goes_on_after_a_kill_as_if_there_was_none,
          gives_back_the_best_weights_after_a_kill, goes_on_where_learning_rates_were,
          goes_on_within_the_data_of_every_kind, goes_on_with_what_is_left_out_by_chance, trains_alike_with_data_of_every_kind, takes_inputs_by_their_names, refuses_a_dataset_that_is_not_wrapped,
          refuses_records_that_are_not_batched, refuses_a_model_without_an_optimizer,
          refuses_data_that_cannot_be_trained_with, adds_gradients_up, tells_of_a_loss_that_is_no_number,
          stops_behind_a_checkpoint, validates_before_it_trains]
if mpirun:
    checks += [ranks_train_as_one_process, ranks_go_on_after_one_was_killed, ranks_stop_together, ranks_need_data_each]
tell(checks)
