"""A lower learning rate when validation gets no better."""

from __future__ import annotations

from detcore.keras._tensorflow import tf
from detcore.keras.callbacks._over_validations import OverValidations


class ReduceLROnPlateau(OverValidations, tf.keras.callbacks.ReduceLROnPlateau):  # type: ignore[misc]
    """As that of Keras, with validations in place of epochs, and with its state kept in
    checkpoints; the learning rate itself is kept with the optimizer."""

    _state = ("best", "cooldown_counter", "test_end_count", "wait")
