"""Callbacks for trials: told of workloads, and with their state kept in checkpoints."""

from detcore.keras.callbacks._callback import Callback
from detcore.keras.callbacks._over_validations import EarlyStopping, ReduceLROnPlateau
from detcore.keras.callbacks._tensorboard import TensorBoard

__all__ = ["Callback", "EarlyStopping", "ReduceLROnPlateau", "TensorBoard"]
