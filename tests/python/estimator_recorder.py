"""Records what happens to a trial, as the runs of tests/data/trials/estimator were recorded."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import estimator_trials
import numpy as np
from detcore import InvalidHP
from detcore.estimator import EstimatorTrial, RunHook
from detcore.trial._tensorflow import tf

v1: Any = tf.compat.v1


class Recorder:
    """The events of one phase of a run."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.events: list[list[Any]] = []
        self.checkpoints: dict[str, str] = {}
        self._calls: dict[tuple[str, str], int] = {}

    def add(self, *event: Any) -> None:
        self.events.append(list(event))

    def act(self, tag: str, hook: str, run_context: Any = None) -> None:
        """What the run's user does at its nth call of a hook."""
        nth = self._calls[tag, hook] = self._calls.get((tag, hook), 0) + 1
        for action in self.about.get("actions", []):
            if (action["tag"], action["hook"], action["nth"]) == (tag, hook, nth):
                what = action["do"]
                self.add("action", what)
                if what == "request_stop":
                    run_context.request_stop()
                elif what == "rng":
                    self.add("rng", [random.random(), np.random.random()])
                elif what == "invalid_hp":
                    raise InvalidHP(f"invalid hyperparameter from {hook}")
                elif what == "raise":
                    raise RuntimeError(f"user error in {hook}")


def recording_trial(recorder: Recorder) -> type[EstimatorTrial]:
    about = recorder.about
    shared: dict[str, Any] = {}

    class Trial(EstimatorTrial):
        def __init__(self, context: Any) -> None:
            recorder.add("trial", "__init__")
            self.context = context
            if about.get("record_context"):
                recorder.add("context", described(context))

        def build_estimator(self) -> Any:
            recorder.add("trial", "build_estimator")
            if about.get("bad_return") == "estimator":
                return "estimator"
            options = dict(about.get("run_config", {}))
            if "train_distribute" in options:
                options["train_distribute"] = tf.distribute.MirroredStrategy(["cpu:0"])
            config = tf.estimator.RunConfig(**options)
            if about["model"] != "linear":
                return estimator_trials.dnn(about["model"], self.context, config)
            plain = model_fn(recorder, self.context, shared)

            def with_params(features: Any, labels: Any, mode: Any, params: Any) -> Any:
                assert params == about["params"]
                return plain(features, labels, mode)

            params = about.get("params")
            function = with_params if params else plain
            return tf.estimator.Estimator(function, params=params, config=config)

        def build_train_spec(self) -> Any:
            recorder.add("trial", "build_train_spec")
            if about.get("bad_return") == "train":
                return {}
            hooks = [hook(recorder, one) for one in about["hooks"]]
            source = input_fn(recorder, self.context, "train")
            return tf.estimator.TrainSpec(source, max_steps=about.get("max_steps"), hooks=hooks)

        def build_validation_spec(self) -> Any:
            recorder.add("trial", "build_validation_spec")
            hooks = [hook(recorder, one) for one in about["eval_hooks"]]
            source = input_fn(recorder, self.context, "eval")
            return tf.estimator.EvalSpec(source, steps=about.get("eval_steps", 100), hooks=hooks)

        def build_serving_input_receiver_fns(self) -> Any:
            recorder.add("trial", "build_serving_input_receiver_fns")
            size = 1 if about["model"] == "linear" else 2

            def receiver() -> Any:
                recorder.add("serving_fn", "called")
                features = {"x": v1.placeholder(tf.float32, [None, size], name="x")}
                return tf.estimator.export.build_raw_serving_input_receiver_fn(features)()

            return dict.fromkeys(about.get("serving", {}), receiver)

    return Trial


def input_fn(recorder: Recorder, context: Any, mode: str) -> Any:
    def source() -> Any:
        recorder.add("input_fn", mode)
        if recorder.about.get("prewrap"):
            context.wrap_dataset(tf.data.Dataset.range(1))
        return estimator_trials.data(recorder.about["val" if mode == "eval" else mode], context)

    return source


def model_fn(recorder: Recorder, context: Any, shared: dict[str, Any]) -> Any:
    about = recorder.about

    def model(features: Any, labels: Any, mode: Any) -> Any:
        recorder.add("model_fn", mode)
        loss, weight, prediction = estimator_trials.linear_loss(features, labels)
        outputs = {"pred": prediction}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions=outputs)
        if mode == tf.estimator.ModeKeys.EVAL:
            metrics = {}
            for one in about.get("make_metric", []):
                reducer = shared.get("reducer") or estimator_trials.reducer(recorder, one)
                if one.get("shared"):
                    shared["reducer"] = reducer
                value = estimator_trials.metric(one["metric"], labels, prediction)
                dtype = one.get("dtype", "float64")
                metrics[one["name"]] = context.make_metric(value, reducer, dtype)
            if about.get("vector_metric"):
                metrics["vec"] = v1.metrics.mean_tensor(tf.constant([1.0, 2.0]))
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        estimator_trials.summarise(about["summaries"], weight, loss)
        original = optimizer = estimator_trials.optimizer(about)
        if not about.get("no_wrap_optimizer"):
            optimizer = context.wrap_optimizer(original)
            recorder.add("wrap", "optimizer", {"same_object": optimizer is original})
        train = optimizer.minimize(loss, global_step=v1.train.get_global_step())
        hooks = [hook(recorder, one) for one in about.get("model_fn_hooks", [])]
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=hooks)

    return model


def described(context: Any) -> dict[str, Any]:
    names = ["get_global_batch_size", "get_per_slot_batch_size", "get_hparams", "get_trial_id"]
    return {name: {"value": getattr(context, name)()} for name in names}


class _Session(v1.train.SessionRunHook):  # type: ignore[misc]
    def __init__(self, recorder: Recorder, tag: str) -> None:
        self.recorder, self.tag = recorder, tag
        self.n = 0

    def _add(self, name: str, *facts: Any) -> None:
        self.recorder.add("hook", self.tag, name, *facts)

    def begin(self) -> None:
        self._add("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._add("after_create_session")

    def before_run(self, run_context: Any) -> None:
        self._add("before_run")
        self.recorder.act(self.tag, "before_run", run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        weights = run_context.session.run(v1.trainable_variables())
        self._add("after_run", {"weights": [weight.ravel() for weight in weights]})
        self.recorder.act(self.tag, "after_run", run_context)

    def end(self, session: Any) -> None:
        self._add("end")


class _Run(_Session, RunHook):
    def on_checkpoint_load(self, checkpoint_dir: str) -> None:
        folder = pathlib.Path(checkpoint_dir)
        self.n = int((folder / f"user-{self.tag}.txt").read_text())
        self._add("on_checkpoint_load", {"n": self.n})

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        folder = pathlib.Path(checkpoint_dir)
        self.n += 1
        present = sorted(path.name for path in folder.iterdir() if path.is_file())
        present = [name for name in present if not name.startswith("user-")]
        self._add("on_checkpoint_end", {"n": self.n, "files_present": present})
        (folder / f"user-{self.tag}.txt").write_text(str(self.n))
        self.recorder.act(self.tag, "on_checkpoint_end")

    def on_trial_close(self) -> None:
        self._add("on_trial_close")


def hook(recorder: Recorder, about: dict[str, Any]) -> Any:
    return (_Session if about.get("base") == "session" else _Run)(recorder, about["tag"])
