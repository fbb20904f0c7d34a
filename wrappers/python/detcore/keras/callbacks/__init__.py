"""Callbacks for trials. They see workloads, and checkpoints keep their state."""

from detcore.keras.callbacks._callback import Callback
from detcore.keras.callbacks._over_validations import EarlyStopping, ReduceLROnPlateau
from detcore.keras.callbacks._tensorboard import TensorBoard

__all__ = ["Callback", "EarlyStopping", "ReduceLROnPlateau", "TensorBoard"]
