"""Callbacks for trials: told of workloads, and with their state kept in checkpoints."""

from detcore.keras.callbacks._callback import Callback
from detcore.keras.callbacks._early_stopping import EarlyStopping
from detcore.keras.callbacks._reduce_lr_on_plateau import ReduceLROnPlateau
from detcore.keras.callbacks._tensorboard import TensorBoard

__all__ = ["Callback", "EarlyStopping", "ReduceLROnPlateau", "TensorBoard"]
