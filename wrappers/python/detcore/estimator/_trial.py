"""What the author of a trial writes."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from detcore.estimator._context import EstimatorTrialContext
from detcore.estimator._controller import Controller
from detcore.trial import Trial
from detcore.trial._horovod import join_ranks

#: Gives a ServingInputReceiver or a TensorServingInputReceiver of tf.estimator.export.
ServingInputReceiverFn = Callable[..., Any]


class EstimatorTrial(Trial):
    """An estimator and its data; training, validation, checkpoints and the search are done for it.
    TensorFlow behaves as version 1 while it is trained: graphs, and no eager execution."""

    trial_context_class = EstimatorTrialContext
    trial_controller_class = Controller
    _join_ranks = staticmethod(join_ranks)

    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_estimator(self) -> Any:
        """A `tf.estimator.Estimator`, premade or of a model function whose optimizer went through
        `context.wrap_optimizer()`. Of its RunConfig the directory, the seed and when checkpoints
        are made do not count."""

    @abc.abstractmethod
    def build_train_spec(self) -> Any:
        """A `tf.estimator.TrainSpec`. Its input function returns a Dataset that went through
        `context.wrap_dataset()`, which is repeated; `max_steps` does not count."""

    @abc.abstractmethod
    def build_validation_spec(self) -> Any:
        """A `tf.estimator.EvalSpec`, of which the input function, the steps and the hooks count."""

    def build_serving_input_receiver_fns(self) -> dict[str, ServingInputReceiverFn]:
        """By name: each checkpoint has a SavedModel for each, in a directory of that name."""
        return {}
