"""Imports TensorFlow for the modules of this package."""

from __future__ import annotations

from detcore.trial._tensorflow import tf

__all__ = ["tf"]
