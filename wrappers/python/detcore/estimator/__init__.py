"""Trains estimators of tf.estimator as trials.

You write a class with an estimator and its data. Training, validation, checkpoints and the search
are done for it.
"""

from detcore.estimator._context import (
    EstimatorContext,
    EstimatorExperimentalContext,
    EstimatorTrialContext,
)
from detcore.estimator._load import load_estimator_from_checkpoint_path
from detcore.estimator._native import EstimatorNativeContext, init
from detcore.estimator._reducer import MetricReducer
from detcore.estimator._run_hook import RunHook
from detcore.estimator._trial import EstimatorTrial, ServingInputReceiverFn

__all__ = [
    "EstimatorContext",
    "EstimatorExperimentalContext",
    "EstimatorNativeContext",
    "EstimatorTrial",
    "EstimatorTrialContext",
    "MetricReducer",
    "RunHook",
    "ServingInputReceiverFn",
    "init",
    "load_estimator_from_checkpoint_path",
]
