"""Prepares the estimator of a trial for its controller."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from detcore.estimator import _dropout
from detcore.estimator._hooks import StopHook
from detcore.estimator._run_hook import RunHook
from detcore.trial import CheckFailedError, _random_state
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from detcore.estimator._context import EstimatorContext
    from detcore.trial._gradients import Gradients

_v1 = tf.compat.v1
# Seconds between the checkpoints of TensorFlow itself. The first one is enough.
_NEVER = 9999999999999999


class Builder(Protocol):
    """The part of an EstimatorTrial that builds its parts."""

    def build_estimator(self) -> Any: ...
    def build_train_spec(self) -> Any: ...
    def build_validation_spec(self) -> Any: ...
    def build_serving_input_receiver_fns(self) -> dict[str, Any]: ...


class Parts(NamedTuple):
    """The parts of a trial."""

    estimator: Any
    train: Any
    validation: Any
    #: Receivers, by the name of their export.
    serving: dict[str, Callable[..., Any]]

    def run_hooks(self) -> list[RunHook]:
        return [hook for hook in self.train.hooks if isinstance(hook, RunHook)]


def version_one(trial_seed: int) -> None:
    """Makes TensorFlow use graphs, as estimators need, and seeds all ranks in the same way."""
    _v1.disable_v2_behavior()
    _v1.reset_default_graph()
    _random_state.seed(trial_seed)


def parts(trial: Builder) -> Parts:
    def built(method: Callable[[], Any], kind: type, name: str) -> Any:
        part = method()
        if not isinstance(part, kind):
            raise TypeError(
                f"{method.__name__}() of a trial returns {name}, not a {type(part).__name__}"
            )
        return part

    made = Parts(
        built(trial.build_estimator, _v1.estimator.Estimator, "a tf.estimator.Estimator"),
        built(trial.build_train_spec, tf.estimator.TrainSpec, "a tf.estimator.TrainSpec"),
        built(trial.build_validation_spec, tf.estimator.EvalSpec, "a tf.estimator.EvalSpec"),
        built(trial.build_serving_input_receiver_fns, dict, "a dict of functions by name"),
    )
    for name, function in made.serving.items():
        if not isinstance(name, str) or not callable(function):
            raise TypeError(
                "build_serving_input_receiver_fns() of a trial returns functions by name, and "
                f"{name!r}: {function!r} is no such entry"
            )
    config = made.estimator.config
    if config.train_distribute or config.eval_distribute:
        raise CheckFailedError(
            "the RunConfig of the estimator has a distribution strategy: leave it out, because the "
            "ranks of the trial share the work"
        )
    return made


def estimator(
    given: Any,
    context: EstimatorContext,
    directory: str,
    gradients: Gradients | None,
    hold_scaffold: Callable[[Any], None],
) -> Any:
    """Returns the trial's estimator, in a separate directory.

    `gradients` are the sums of several ranks. `hold_scaffold` gets the scaffold of a session.
    """
    ranks = context.distributed
    session_config = _v1.ConfigProto()
    session_config.CopyFrom(given.config.session_config)
    session_config.gpu_options.allow_growth = True
    if ranks.size > 1:
        session_config.gpu_options.visible_device_list = str(ranks.local_rank)
    config = given.config.replace(
        model_dir=directory,
        tf_random_seed=context.env.trial_seed,
        save_checkpoints_steps=None,
        save_checkpoints_secs=_NEVER,
        session_config=session_config,
    )

    def model_fn(features: Any, labels: Any, mode: Any, params: Any, config: Any) -> Any:
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        context._gradients = gradients if is_training else None
        try:
            with _dropout.by_batch() if is_training else contextlib.nullcontext():
                spec = given.model_fn(features, labels, mode, config)
        finally:
            context._gradients = None
        if is_training:
            hold_scaffold(spec.scaffold)
            # Hooks of the model run after all others.
            spec = spec._replace(training_hooks=[*spec.training_hooks, StopHook(context)])
        return spec

    return tf.estimator.Estimator(
        model_fn, config=config, params=given.params, warm_start_from=given._warm_start_settings
    )


def training_input(input_fn: Callable[..., Any], context: EstimatorContext) -> Callable[..., Any]:
    """Returns the trial's input. A Dataset is repeated."""
    wanted = inspect.signature(input_fn).parameters

    def repeated(mode: Any, params: Any, config: Any) -> Any:
        given = {"mode": mode, "params": params, "config": config}
        data = input_fn(**{name: value for name, value in given.items() if name in wanted})
        if not context.experimental.is_fed(context._dataset_wrapped):
            raise RuntimeError(
                "the input function of build_train_spec() made a Dataset that did not pass through "
                "context.wrap_dataset(), which gives ranks their shares"
            )
        return data.repeat() if isinstance(data, tf.data.Dataset) else data

    return repeated
