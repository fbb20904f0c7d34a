"""What the author of a trial writes."""

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
    """A model and its data; training, validation, checkpoints and the search are done for it."""

    trial_context_class = TFKerasTrialContext
    trial_controller_class = Controller
    _join_ranks = staticmethod(join_ranks)

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> Any:
        """A `tf.keras.Model` that went through `context.wrap_model()` and is then compiled."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> InputData:
        """(x, y) or (x, y, sample_weight) of NumPy arrays or of lists or dicts of such, a
        `tf.data.Dataset` that went through `context.wrap_dataset()`, or a
        `tf.keras.utils.Sequence`."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> InputData:
        """As build_training_data_loader()."""

    def session_config(self) -> Any:
        """A `tf.compat.v1.ConfigProto`, for graph mode."""
        return tf.compat.v1.ConfigProto(allow_soft_placement=True)

    def keras_callbacks(self) -> list[tf.keras.callbacks.Callback]:
        """Callbacks of Keras or of detcore.keras.callbacks, in the order of their calls."""
        return []
