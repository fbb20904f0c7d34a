"""The base class of trials of estimators."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from detcore.estimator._context import EstimatorTrialContext
from detcore.estimator._controller import Controller
from detcore.trial import Trial
from detcore.trial._horovod import join_ranks

#: A function that returns a ServingInputReceiver or a TensorServingInputReceiver.
ServingInputReceiverFn = Callable[..., Any]


class EstimatorTrial(Trial):
    """An estimator and its data. Derive your trial from it.

    Training, validation, checkpoints and the search are done for the trial. During training
    TensorFlow behaves as version 1: graphs, and no eager execution.
    """

    trial_context_class = EstimatorTrialContext
    trial_controller_class = Controller
    _join_ranks = staticmethod(join_ranks)

    def __init__(self, context: EstimatorTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_estimator(self) -> Any:
        """Returns a `tf.estimator.Estimator`.

        It is premade, or has a model function whose optimizer went through
        `context.wrap_optimizer()`. The directory, the seed and the times of checkpoints in its
        RunConfig are ignored.
        """

    @abc.abstractmethod
    def build_train_spec(self) -> Any:
        """Returns a `tf.estimator.TrainSpec`.

        Its input function returns a Dataset from `context.wrap_dataset()`, which is repeated.
        `max_steps` is ignored.
        """

    @abc.abstractmethod
    def build_validation_spec(self) -> Any:
        """Returns a `tf.estimator.EvalSpec`. Its input function, its steps and its hooks count."""

    def build_serving_input_receiver_fns(self) -> dict[str, ServingInputReceiverFn]:
        """Returns functions by name, for exports. Each checkpoint has a SavedModel for each of
        them.

        A SavedModel is in a directory of that name.
        """
        return {}
