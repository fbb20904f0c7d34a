"""TensorFlow, as the modules of this package import it."""

from __future__ import annotations

from detcore.trial._tensorflow import tf

__all__ = ["tf"]
