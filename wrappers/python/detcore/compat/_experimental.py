"""What `determined.experimental` gives: `client`, and what of it has this name too."""

from __future__ import annotations

from detcore import client
from detcore.client import Checkpoint
from detcore.client import Client as Determined
from detcore.compat import missing

__all__ = ["Checkpoint", "Determined", "client"]
__path__: list[str] = []

__getattr__ = missing("determined.experimental", __all__)
