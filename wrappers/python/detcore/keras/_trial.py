"""The base class of trials of tf.keras."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from detcore.keras._context import TFKerasTrialContext
from detcore.keras._controller import Controller
from detcore.keras._tensorflow import tf
from detcore.trial import Trial
from detcore.trial._horovod import join_ranks

if TYPE_CHECKING:
    from detcore.keras._data import InputData


class TFKerasTrial(Trial):
    """A model of tf.keras and its data. Derive your trial from it.

    Training, validation, checkpoints and the search are done for the trial.
    """

    trial_context_class = TFKerasTrialContext
    trial_controller_class = Controller
    _join_ranks = staticmethod(join_ranks)

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> Any:
        """Returns the model.

        It is a `tf.keras.Model` from `context.wrap_model()` that you have compiled.
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> InputData:
        """Returns the training data in one of these forms:

        - (x, y) or (x, y, sample_weight), of NumPy arrays or of lists or dicts of such;
        - a `tf.data.Dataset` from `context.wrap_dataset()`;
        - a `tf.keras.utils.Sequence`.
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> InputData:
        """Returns the validation data, in a form of build_training_data_loader()."""

    def session_config(self) -> Any:
        """Returns a `tf.compat.v1.ConfigProto`, for graph mode."""
        return tf.compat.v1.ConfigProto(allow_soft_placement=True)

    def keras_callbacks(self) -> list[tf.keras.callbacks.Callback]:
        """Returns callbacks of Keras or of detcore.keras.callbacks, in the order of their calls."""
        return []
