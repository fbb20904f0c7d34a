"""Records what happens to a trial, as the runs of tests/data/trials/keras were recorded."""

from __future__ import annotations

import random
from typing import Any

import keras_trials
import numpy as np
from detcore import InvalidHP
from detcore.keras import TFKerasTrial, callbacks
from detcore.keras._tensorflow import tf


class Recorder:
    """The events of one phase of a run."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.events: list[list[Any]] = []
        self.checkpoints: dict[str, str] = {}
        self._calls: dict[str, int] = {}
        self.trial: Any = None

    def add(self, *event: Any) -> None:
        self.events.append(list(event))

    def act(self, hook: str, model: Any) -> None:
        """What the run's user does at its nth call of a hook."""
        nth = self._calls[hook] = self._calls.get(hook, 0) + 1
        for action in self.about.get("actions", []):
            if (action["hook"], action["nth"]) == (hook, nth):
                self.add("action", action["do"])
                self._do(action, hook, model)

    def _do(self, action: dict[str, Any], hook: str, model: Any) -> None:
        what = action["do"]
        if what == "stop_training":
            model.stop_training = True
        elif what == "set_stop_requested":
            self.trial.context.set_stop_requested(True)
        elif what == "set_lr":
            model.optimizer.learning_rate.assign(action["lr"])
        elif what == "rng":
            self.add("rng", [random.random(), np.random.random()])
        elif what == "invalid_hp":
            raise InvalidHP(f"invalid hyperparameter from {hook}")
        elif what == "raise":
            raise RuntimeError(f"user error in {hook}")


def recording_trial(recorder: Recorder) -> type[TFKerasTrial]:
    about = recorder.about

    class KTrial(TFKerasTrial):
        def __init__(self, context: Any) -> None:
            recorder.trial = self
            recorder.add("trial", "__init__")
            self.context = context
            for options in about["configure_fit"]:
                options = dict(options)
                if isinstance(options.get("class_weight"), dict):
                    weights = options["class_weight"].items()
                    options["class_weight"] = {int(label): weight for label, weight in weights}
                context.configure_fit(**options)
            if about.get("record_context"):
                recorder.add("context", described(context))

        def session_config(self) -> Any:
            recorder.add("trial", "session_config")
            return super().session_config()

        def build_training_data_loader(self) -> Any:
            recorder.add("trial", "build_training_data_loader")
            return keras_trials.data(about["train"], self.context)

        def build_validation_data_loader(self) -> Any:
            recorder.add("trial", "build_validation_data_loader")
            self.validation = keras_trials.data(about["val"], self.context)
            return self.validation

        def build_model(self) -> Any:
            recorder.add("trial", "build_model")
            return build_model(recorder, self.context)

        def keras_callbacks(self) -> Any:
            recorder.add("trial", "keras_callbacks")
            raw = about.get("callbacks_raw")
            if raw is not None:
                return () if raw == "tuple" else None
            return [
                callback(recorder, one, one.get("tag", "ABCDEF"[number]))
                for number, one in enumerate(about["callbacks"])
            ]

    KTrial.__module__, KTrial.__qualname__ = "model_def", "KTrial"
    return KTrial


def build_model(recorder: Recorder, context: Any) -> Any:
    about = recorder.about
    how = about.get("wrap", "model+optimizer").split("+")
    model, loss, metrics = keras_trials.model(about)
    if about.get("rank_init"):
        model.set_weights(
            [weight + 0.5 * context.distributed.rank for weight in model.get_weights()]
        )
    loss, metrics = about.get("loss", loss), about.get("metrics", metrics)
    recorder.add("init_weights", arrays(model.weights))
    optimizer = about["optimizer"]
    if not isinstance(optimizer, str):
        original = optimizer = keras_trials.optimizer(optimizer)
        if "optimizer" in how:
            optimizer = context.wrap_optimizer(original)
            facts = {"same_object": optimizer is original, "type": type(optimizer).__name__}
            facts["isinstance_of_original_class"] = isinstance(optimizer, type(original))
            recorder.add("wrap", "optimizer", facts)
    if about.get("extra_wrapped_optimizer"):
        context.wrap_optimizer(tf.keras.optimizers.Adam())
    wrapped = model
    if "model" in how:
        wrapped = context.wrap_model(model)
        facts = {"same_object": wrapped is model, "type": type(wrapped).__name__}
        facts["isinstance"] = isinstance(wrapped, tf.keras.Model)
        recorder.add("wrap", "model", facts)
    if "nocompile" not in how:
        compiled = model if "compile_inner" in how else wrapped
        extra = about.get("compile_extra", {})
        compiled.compile(optimizer, loss, metrics=metrics or None, **extra)
        if "compile_inner" not in how:
            recorder.add("compiled", {"inner_is_compiled_now": model._is_compiled})
    if "fit" in how:
        x, y = keras_trials.rows(about["train"])
        returned = wrapped.fit(x, y, validation_data=(x, y))
        recorder.add("fit_returned", type(returned).__name__)
    return wrapped


def arrays(variables: Any) -> list[Any]:
    return [variable.numpy() for variable in variables]


def described(context: Any) -> dict[str, Any]:
    def result(call: Any) -> dict[str, Any]:
        try:
            return {"value": call()}
        except Exception as failure:
            return {"error": type(failure).__name__}

    names = ["global_batch_size", "per_slot_batch_size", "experiment_id", "trial_id", "trial_seed"]
    names += ["hparams", "data_config", "stop_requested", "initial_batch"]
    facts = {f"get_{name}": result(getattr(context, f"get_{name}")) for name in names}
    for name in ("lr", "nested", "nested.a", "missing", "global_batch_size"):
        facts[f"get_hparam({name})"] = result(lambda name=name: context.get_hparam(name))
    for value in ("yes", 1):
        facts[f"set_stop_requested({value!r})"] = result(
            lambda value=value: context.set_stop_requested(value)
        )
    for name in ("rank", "size"):
        facts[f"distributed.{name}"] = {"value": getattr(context.distributed, name)}
    facts["experimental"] = {"value": type(context.experimental).__name__}
    facts["fit_settings"] = {
        "value": {f"_fit_{name}": value for name, value in vars(context._fit).items()}
    }
    return facts


def callback(recorder: Recorder, about: dict[str, Any], tag: str) -> Any:
    kind, options = about["kind"], about.get("args", {})
    if kind.startswith("keras."):
        return getattr(tf.keras.callbacks, kind.rpartition(".")[2])(**options)
    if hasattr(callbacks, kind):
        return _stateful(getattr(callbacks, kind), recorder, tag)(**options)
    base = callbacks.Callback if kind.startswith("det") else tf.keras.callbacks.Callback
    name = {"det": "Rec", "plain": "Rec", "det_chief": "DC", "det_epoch": "DE", "plain_epoch": "PE"}
    hooks = dict(_HOOKS)
    if not kind.endswith("_epoch"):
        del hooks["on_epoch_end"]
    if base is callbacks.Callback:
        hooks.update(_OURS)
    # Of the class, where Keras does not look.
    hooks["_chief_worker_only"] = kind == "det_chief"
    made: Any = type(name[kind], (base,), hooks)()
    made.recorder, made.tag, made.n = recorder, tag, 0
    return made


def _hook(name: str) -> Any:
    def called(self: Any, *given: Any, **named: Any) -> None:
        given = (*given, *named.values())
        if name == "on_train_begin" and self.recorder.about.get("show_params"):
            self.recorder.add("params", self.tag, self.params)
        copied = [dict(value) if isinstance(value, dict) else value for value in given]
        self.recorder.add("hook", self.tag, name, *copied)
        if self.tag == first_tag(self.recorder):
            self.recorder.act(name, self.model)
        if name == "on_train_batch_end" and self.tag == "A" and self.recorder.about["weights"]:
            self.recorder.add("weights", [v.numpy().ravel()[:12] for v in self._weights()])

    return called


def first_tag(recorder: Recorder) -> str:
    """Of the callback that acts."""
    kinds = recorder.about["callbacks"]
    recording = [n for n, one in enumerate(kinds) if one["kind"][:3] in ("det", "pla")]
    return kinds[recording[0]].get("tag", "ABCDEF"[recording[0]]) if recording else ""


_HOOKS = {
    name: _hook(name)
    for name in (
        *("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end"),
        *("on_train_batch_begin", "on_train_batch_end", "on_test_begin", "on_test_end"),
        *("on_test_batch_begin", "on_test_batch_end"),
    )
}
_HOOKS["_weights"] = lambda self: self.model.trainable_variables


def _end_checkpoint(self: Any, checkpoint_dir: str) -> None:
    import pathlib

    folder = pathlib.Path(checkpoint_dir)
    present = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    self.recorder.add("hook", self.tag, "on_checkpoint_end", {"files_present": present})
    if self.recorder.about.get("write_in_checkpoint"):
        (folder / f"user-{self.tag}.txt").write_text(self.tag)
    if self.tag == first_tag(self.recorder):
        self.recorder.act("on_checkpoint_end", self.model)


def _get_state(self: Any) -> dict[str, Any]:
    self.recorder.add("hook", self.tag, "get_state", self.n)
    state = {"n": self.n, "tag": self.tag}
    self.n += 1
    return state


def _load_state(self: Any, state: dict[str, Any]) -> None:
    self.recorder.add("hook", self.tag, "load_state", dict(state))
    self.n = state["n"]


_OURS = {
    "on_train_workload_begin": _hook("on_train_workload_begin"),
    "on_train_workload_end": _hook("on_train_workload_end"),
    "on_checkpoint_end": _end_checkpoint,
    "get_state": _get_state,
    "load_state": _load_state,
}


def _stateful(base: Any, recorder: Recorder, tag: str) -> Any:
    shown = ["wait", "best", "stopped_epoch", "test_end_count", "best_epoch", "cooldown_counter"]
    shown += ["workload_end_count"]

    class Stateful(base):  # type: ignore[misc]
        def _shown(self) -> dict[str, Any]:
            return {name: getattr(self, name) for name in shown if hasattr(self, name)}

        def on_test_end(self, logs: Any = None) -> None:
            before = set(logs)
            super().on_test_end(logs)
            if base is callbacks.TensorBoard:
                return
            rate = float(self.model.optimizer.learning_rate.numpy())
            facts = {"added_log_keys": sorted(set(logs) - before)}
            facts["stop_training"] = self.model.stop_training
            recorder.add("state", tag, "after on_test_end", {**self._shown(), "lr": rate}, facts)

        def get_state(self) -> Any:
            state = super().get_state()
            recorder.add("hook", tag, "get_state", state)
            return state

        def load_state(self, state: Any) -> None:
            recorder.add("hook", tag, "load_state", state)
            super().load_state(state)
            recorder.add("state", tag, "after load_state", self._shown())

    Stateful.__name__ = Stateful.__qualname__ = base.__name__
    return Stateful
