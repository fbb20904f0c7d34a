"""Imports TensorFlow, or raises an error that names what to install."""

from __future__ import annotations

_INSTALL = "pip install 'tensorflow>=2.11,<2.16' 'numpy<2'"

try:
    import tensorflow as tf
except ImportError as missing:
    raise ImportError(
        f"trials of detcore.keras and detcore.estimator need TensorFlow ({missing}): {_INSTALL}"
    ) from missing

if tuple(int(part) for part in tf.__version__.split(".")[:2]) >= (2, 16):
    raise ImportError(
        "trials of detcore.keras and detcore.estimator are for Keras 2 and tf.estimator, which "
        f"TensorFlow {tf.__version__} no longer has: {_INSTALL}; detcore.integrations.keras has a "
        "callback for Keras 3"
    )

__all__ = ["tf"]
