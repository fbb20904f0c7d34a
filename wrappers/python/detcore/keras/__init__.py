"""Trains models of tf.keras as trials.

You write a class with a model and its data. Training, validation, checkpoints and the search are
done for it.
"""

from detcore.keras import callbacks
from detcore.keras._context import TFKerasExperimentalContext, TFKerasTrialContext
from detcore.keras._data import ArrayLike, InputData
from detcore.keras._load import load_model_from_checkpoint_path
from detcore.keras._sequence_adapter import SequenceAdapter
from detcore.keras._trial import TFKerasTrial
from detcore.keras.callbacks import TensorBoard as TFKerasTensorBoard

__all__ = [
    "ArrayLike",
    "InputData",
    "SequenceAdapter",
    "TFKerasExperimentalContext",
    "TFKerasTensorBoard",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "callbacks",
    "load_model_from_checkpoint_path",
]
