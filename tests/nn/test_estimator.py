"""Trials of det::estimator: hooks and numbers as recorded, killed and gone on with, refused, and over ranks.

usage: test_estimator.py TRIAL MPIRUN RECORDED, where RECORDED is a directory. Says so in TAP."""

import json
import pathlib
import tempfile

from trial_runs import arguments, finished, mpirun, ranks, tell, train

recorded = pathlib.Path(arguments[0])


def configuration(batches, scheduling_unit=2, **more):
    return json.dumps({"searcher": {"name": "single", "metric": "loss", "max_length": {"batches": batches}},
                       "scheduling_unit": scheduling_unit, "min_validation_period": {"batches": scheduling_unit},
                       "reproducibility": {"experiment_seed": 7},
                       "checkpoint_storage": {"save_trial_latest": 100}, **more})


def environment(model, batches, batch_size, scheduling_unit=2, **more):
    return {"MODEL": model, "HPARAMS": json.dumps({"global_batch_size": batch_size}),
            "CONFIG": configuration(batches, scheduling_unit, min_checkpoint_period={"batches": scheduling_unit}), **more}


def run(*before, **given):
    with tempfile.TemporaryDirectory() as home:
        return [json.loads(line) for line in finished(home, *before, **given)]


def after_a_kill(batch, **given):
    """What is said up to the kill, and from then on."""
    with tempfile.TemporaryDirectory() as home:
        code, lines, _ = train(home, DIE_AFTER_BATCH=str(batch), **given)
        assert code == -9, code
        return [json.loads(line) for line in lines], [json.loads(line) for line in finished(home, **given)]


def phases(case):
    text = (recorded / f"{case}.json").read_text()
    return [phase["events"] for phase in json.loads(text)["phases"] if "events" in phase]


def told(events):
    """Without numbers: what is called."""
    return [event[:3] for event in events if event[0] in ("trial", "input_fn", "model_fn", "serving_fn", "hook")]


def weights(events):
    """Of a recorded event, and of ours."""
    return [event[3]["weights"] if isinstance(event[3], dict) else event[3]
            for event in events if event[0] == "hook" and event[2] == "after_run"]


def responses(events, kind):
    return [event[2]["metrics"] for event in events if event[0] == "response" and event[1] == kind]


def reports(events, group):
    return [event[2] for event in events if event[0] == "metrics" and event[1] == group]


def assert_close(found, expected, what=""):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), f"{what}: {sorted(found)}, not {sorted(expected)}"
        for key in expected:
            assert_close(found[key], expected[key], f"{what} {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{what}: {len(found)}, not {len(expected)}"
        for i, (one, other) in enumerate(zip(found, expected)):
            assert_close(one, other, f"{what} {i}")
    elif expected != "<racy>":
        assert abs(found - expected) <= 2e-5 * max(1, abs(expected)), f"{what}: {found}, not {expected}"


def calls_hooks_as_recorded():
    first, second = phases("e-order")
    before, after = after_a_kill(3, **environment("linear", 4, 3))
    assert told(before)[:len(told(first)) - 2] == told(first)[:-2], told(before)  # the rest is how it ends
    assert told(after) == told(second), told(after)
    assert_close(weights(before)[:len(weights(first))], weights(first), "weights")
    training, validation = reports(after, "training")[0], reports(after, "validation")[0]
    assert_close(training["batch_metrics"], responses(first, "T")[0]["batch_metrics"], "training")
    assert_close(training["metrics"], responses(first, "T")[0]["avg_metrics"], "training")
    assert_close(validation["metrics"], responses(first, "V")[0]["validation_metrics"], "validation")


def evaluates_as_many_batches_as_recorded():
    recorded_run = phases("e-eval-steps-2")[0]
    ours = run(**environment("linear", 1, 3, 1, EVAL_STEPS="2"))

    def of_evaluation(events):
        return [call for call in told(events) if call[1] == "E"]

    assert of_evaluation(ours) == of_evaluation(recorded_run), of_evaluation(ours)
    assert_close(reports(ours, "validation")[0]["metrics"], responses(recorded_run, "V")[0]["validation_metrics"])


def computes_a_deep_network_as_recorded():
    first = phases("e-dnn")[0]
    expected = weights(first)
    given = environment("dnn", 20, 4, 10, FIRST_WEIGHTS=json.dumps(expected[0]))
    ours = run(**{**given, "CONFIG": configuration(20, 10, checkpoint_policy="none")})
    found = [event[3] for event in ours if event[:1] + event[2:3] == ["hook", "after_run"] and event[1] in "AE"]
    assert_close(found, expected, "weights")
    for kind, group in ("T", "training"), ("V", "validation"):
        for report, response in zip(reports(ours, group), responses(first, kind)):
            # Of what comes after the first batch, which has other weights.
            if kind == "V":
                assert_close(report["metrics"], response["validation_metrics"], group)
            else:
                assert_close(report["batch_metrics"][1:], response["batch_metrics"][1:], group)


def goes_on_after_a_kill_as_if_there_was_none():
    for model in "dropped", "linear_classifier":
        given = environment(model, 7, 8)
        whole = run(**given)
        for batch in 1, 3, 6, 7:
            before, after = after_a_kill(batch, **given)
            assert ["hook", "A", "on_trial_close"] not in before
            loaded = ["hook", "A", "on_checkpoint_load", True]
            assert (loaded in after) == (batch > 2), f"{model}: killed in batch {batch}"
            assert weights(after)[-1] == weights(whole)[-1], f"{model}: killed in batch {batch}"
            for group in "training", "validation":
                metrics = [report["metrics"] for report in reports(after, group)]
                assert metrics == [report["metrics"] for report in reports(whole, group)], f"{model}: {group}"


def learns_with_every_premade_estimator():
    of_regressor = {"average_loss", "label/mean", "prediction/mean", "loss", "global_step"}
    for model in "dnn_classifier", "dnn_regressor", "linear_classifier", "linear_regressor":
        events = run(**environment(model, 200, 8, 50))
        before, after = reports(events, "training")[0]["batch_metrics"][0], reports(events, "validation")[-1]["metrics"]
        assert after["average_loss"] < 0.8 * before["loss"], f"{model}: {before}, {after}"
        assert model.endswith("classifier") or after.keys() == of_regressor, sorted(after)
        assert abs(after["prediction/mean"] - after["label/mean"]) < 0.1, f"{model}: {after}"


def stops_where_a_hook_wants_it():
    for hook in "AEM":
        events = run(**environment("linear", 8, 3, STOP_IN=hook))
        assert reports(events, "training")[-1]["steps_completed"] == 2, f"{hook}: {events}"
        assert ["hook", "A", "on_trial_close"] in events


def closes_hooks_of_a_trial_that_fails():
    for hook in "AE":
        with tempfile.TemporaryDirectory() as home:
            code, lines, errors = train(home, FAIL_IN=hook, **environment("linear", 4, 3))
        assert code == 1 and "a hook failed" in errors, errors
        assert json.loads(lines[-1]) == ["hook", "B", "on_trial_close"], lines


def tells_what_failed_first():
    with tempfile.TemporaryDirectory() as home:
        code, lines, errors = train(home, FAIL_IN="A", BREAK="closing", **environment("linear", 4, 3))
    closed = [json.loads(line)[1] for line in lines if "on_trial_close" in line]
    assert code == 1 and closed == ["A", "B"], (code, closed)
    assert errors.splitlines()[-1].endswith("a hook failed"), errors
    assert all(f"closing {hook} failed" in errors for hook in "AB"), errors
    with tempfile.TemporaryDirectory() as home:
        code, _, errors = train(home, BREAK="closing", **environment("linear", 4, 3))
    assert code == 1 and errors.splitlines()[-1].endswith("closing A failed") and "closing B failed" in errors, errors


def ends_where_a_hook_refuses_hyperparameters():
    for hook, batches in ("A", 1), ("E", 2):
        events = run(**environment("linear", 4, 3, REFUSE_IN=hook))
        trained = [call for call in told(events) if call == ["hook", "A", "before_run"]]
        assert len(trained) == batches and ["hook", "B", "on_trial_close"] in events, events


def ends_on_all_ranks_where_one_refuses_hyperparameters():
    for refused_in in "trial", "A":
        for rank in "0", "1":
            given = environment("linear_classifier", 4, 4, REFUSE_IN=refused_in, REFUSE_RANK=rank)
            with tempfile.TemporaryDirectory() as home:
                code, lines, errors = train(home, *ranks(2), **given)
            assert code == 0 and "another rank found them invalid" in errors, f"{refused_in} of rank {rank}: {lines} {errors}"


def validates_before_it_trains():
    given = environment("linear", 2, 3)
    given["CONFIG"] = configuration(2, perform_initial_validation=True)
    first = reports(run(**given), "validation")[0]["metrics"]
    # The mean of what the squares of 0 to 2, 3 to 5, 6 to 8, and 9 have as means.
    assert_close(first, {"loss": 37.25, "global_step": 0})


def begins_with_the_weights_of_another_trial():
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as other:
        given = environment("dnn_classifier", 6, 8)
        last = reports([json.loads(line) for line in finished(home, **given)], "validation")[-1]["metrics"]
        given["CONFIG"] = configuration(2, perform_initial_validation=True)
        given["WARM_START"] = str(saved_models(home)[6])
        first = reports([json.loads(line) for line in finished(other, **given)], "validation")[0]["metrics"]
        assert first == {**last, "global_step": 0}, (first, last)
        with tempfile.TemporaryDirectory() as another:
            code, _, errors = train(another, **{**given, "MODEL": "linear_classifier"})
    assert code == 1 and "linear/linear_model" in errors, errors


def keeps_its_data_in_files():
    with tempfile.TemporaryDirectory() as cache:
        given = environment("linear", 8, 3, CACHED="1")
        given["CONFIG"] = json.dumps({**json.loads(given["CONFIG"]), "optimizations": None,
                                      "data_layer": {"type": None, "container_storage_path": cache}})
        whole = run(**given)
        assert [event for event in whole if event[0] == "make_dataset"] == [["make_dataset"]] * 2, whole
        for batch in 3, 6:  # of the first epoch and the second
            _, after = after_a_kill(batch, **given)
            assert ["make_dataset"] not in after
            assert weights(after)[-1] == weights(whole)[-1], f"killed in batch {batch}"
        labels = [event[1] for event in whole if event[0] == "labels"]
        first, second = sum(labels[:4], []), sum(labels[4:], [])
        assert sorted(first) == sorted(second) == list(range(10)), labels
        assert first != second and first != sorted(first), labels


def refuses_what_cannot_be_trained():
    for rule, why in (("wrap_dataset", "wrap_dataset()"), ("wrap_optimizer", "wrap_optimizer()"), ("data", "no elements"),
                      ("comparing", "'z', is none of its predictions"), ("optimizer", "no optimizer"),
                      ("batch", ".batch(context().get_per_slot_batch_size())"),
                      ("labels", "is 2; of 2 classes")):
        with tempfile.TemporaryDirectory() as home:
            code, lines, errors = train(home, BREAK=rule, **environment("linear_classifier" if rule == "labels" else "linear", 2, 3))
        assert code == 1 and why in errors, f"{rule}: {errors}"
        assert json.loads(lines[-1]) == ["hook", "B", "on_trial_close"], rule
    with tempfile.TemporaryDirectory() as home:
        code, _, errors = train(home, EVAL_STEPS="0", **environment("linear", 2, 3))
    assert code == 1 and "an evaluation of 0 steps" in errors, errors
    for rule, why in ("eval_hooks", "null"), ("eval_input_fn", "no input_fn"):
        with tempfile.TemporaryDirectory() as home:
            code, lines, errors = train(home, BREAK=rule, **environment("linear", 2, 3))
        assert code == 1 and why in errors and '"hook"' not in "".join(lines), f"{rule}: {errors}"
    for name, why in ((".", "no name that a directory can have"), ("..", "no name that a directory can have"),
                      ("a/b", "no name that a directory can have"), ("model.safetensors", "a file of that name"),
                      ("load_data.json", "a file of that name"), ("metadata.json", "a file of that name")):
        with tempfile.TemporaryDirectory() as home:
            code, lines, errors = train(home, SERVING=name, **environment("linear", 2, 3))
        assert code == 1 and why in errors and '"hook"' not in "".join(lines), f"{name}: {errors}"


def saved_models(home):
    """By the step of the checkpoint that has them."""
    checkpoints = [path.parent for path in pathlib.Path(home).glob("*/metadata.json")]
    return {json.loads((path / "metadata.json").read_text())["steps_completed"]: path for path in checkpoints}


def writes_models_for_serving_as_recorded():
    recorded_run = [event for event in phases("e-serving-one")[0] if event[0] in ("serving_fn", "model_fn")]
    with tempfile.TemporaryDirectory() as home:
        given = environment("linear", 4, 3, SERVING="inference")
        events = [json.loads(line) for line in finished(home, **given)]
        called = [call for call in told(events) if call[0] in ("serving_fn", "model_fn") and call[1] != "eval"]
        assert called == recorded_run, called
        for steps, expected in (2, [0, 0.0365555584, 0.0731111169]), (4, [0, 0.272831976, 0.545663953]):
            checkpoint = saved_models(home)[steps]
            (exported,) = (checkpoint / "inference").iterdir()
            assert {path.name for path in exported.iterdir()} == {"saved_model.json", "variables.safetensors", "model.onnx"}
            inputs, (_, name, found) = map(json.loads, finished(home, LOAD=str(checkpoint), **given))
            assert inputs == ["inputs", ["x"]] and name == "y", (inputs, name)
            assert_close(found, expected, f"predictions after {steps} steps")


def serves_features_as_the_trial_takes_them():
    with tempfile.TemporaryDirectory() as home:
        given = environment("dnn", 10, 4, 10, SERVING="one other")
        events = [json.loads(line) for line in finished(home, **given)]
        checkpoint = saved_models(home)[10]
        code, _, errors = train(home, LOAD=str(checkpoint), **given)
        assert code == 1 and "several" in errors and "/one/" in errors and "/other/" in errors, errors
        lines = [json.loads(line) for line in finished(home, LOAD=str(checkpoint / "other"), **given)]
        found = {line[1]: line[2] for line in lines if line[0] == "prediction"}
        assert found.keys() == {"logistic", "logits", "probabilities"}, found
        assert_close(found["probabilities"][1::2], found["logistic"], "probabilities")
        classes = [line[1] for line in lines if line[0] == "classes"]
        assert classes == [[int(logit > 0) for logit in found["logits"]]], lines
        mean = reports(events, "validation")[-1]["metrics"]["prediction/mean"]
        assert_close(sum(found["logistic"]) / 4, mean, "mean of predictions")
    with tempfile.TemporaryDirectory() as home:
        finished(home, **environment("linear", 2, 3))
        code, _, errors = train(home, LOAD=str(saved_models(home)[2]), MODEL="linear")
        assert code == 1 and "no saved model" in errors, errors


def refuses_to_serve_what_lacks_features():
    with tempfile.TemporaryDirectory() as home:
        code, _, errors = train(home, SERVING="inference", BREAK="receiver", **environment("dnn_classifier", 2, 8))
    assert code == 1 and "'inference'" in errors and "no feature 'height'" in errors, errors


def reduces_metrics_over_batches_and_ranks():
    for before, states, sums in (((), [{"sum": 45.0, "batches": 4}], [3, 9, 12, 21]),
                                 (ranks(2), [{"sum": 20.0, "batches": 3}, {"sum": 25.0, "batches": 3}], [2, 4, 8, 9, 10, 12])):
        if before and not mpirun:
            continue
        # A batch of 4 is one of 2 records on each of two ranks.
        events = run(*before, **environment("linear", 4, 4 if before else 3, METRICS="1"))
        for report in reports(events, "validation"):
            found = {name: report["metrics"][name] for name in ("class", "function", "list")}
            assert found == {"class": 45, "function": 45, "list": sums}, found
        assert [event[1] for event in events if event[0] == "reducer"] == [states] * 2, events


def ranks_go_on_after_a_kill():
    given = environment("dropped", 7, 8)
    whole = run(*ranks(2), **given)
    for batch in 3, 6:
        with tempfile.TemporaryDirectory() as home:
            code, _, errors = train(home, *ranks(2), DIE_AFTER_BATCH=str(batch), **given)
            assert code != 0, errors
            after = [json.loads(line) for line in finished(home, *ranks(2), **given)]
        assert ["hook", "A", "on_checkpoint_load", True] in after
        assert weights(after)[-1] == weights(whole)[-1], f"killed in batch {batch}"
        for group in "training", "validation":
            metrics = [report["metrics"] for report in reports(after, group)]
            assert metrics == [report["metrics"] for report in reports(whole, group)], group


def ranks_train_as_one_process():
    # Batches that all ranks have as many records of.
    runs = [run(*ranks(count), **environment("linear_classifier", 6, 8)) for count in (1, 2, 4)]
    for events in runs[1:]:
        assert told(events) == told(runs[0]), told(events)
        assert_close(weights(events)[-1], weights(runs[0])[-1], "weights")


checks = [calls_hooks_as_recorded, evaluates_as_many_batches_as_recorded, computes_a_deep_network_as_recorded,
          goes_on_after_a_kill_as_if_there_was_none, learns_with_every_premade_estimator, stops_where_a_hook_wants_it,
          begins_with_the_weights_of_another_trial, keeps_its_data_in_files, closes_hooks_of_a_trial_that_fails,
          ends_where_a_hook_refuses_hyperparameters, validates_before_it_trains, refuses_what_cannot_be_trained,
          writes_models_for_serving_as_recorded, serves_features_as_the_trial_takes_them,
          refuses_to_serve_what_lacks_features, tells_what_failed_first, reduces_metrics_over_batches_and_ranks]
if mpirun:
    checks += [ranks_train_as_one_process, ranks_go_on_after_a_kill, ends_on_all_ranks_where_one_refuses_hyperparameters]
tell(checks)
