"""What `determined.experimental.client` gives: detcore.client, and Client by its old name."""

from __future__ import annotations

from detcore import client
from detcore.client import *  # noqa: F403
from detcore.client import Client as Determined
from detcore.compat import missing

__all__ = [*client.__all__, "Determined"]

__getattr__ = missing("determined.experimental.client", __all__)
