"""`determined.common` and `determined.common.api`, of which scripts use the exceptions."""

from __future__ import annotations

from detcore.compat import _errors as errors
from detcore.compat import missing

__all__ = ["errors"]
__path__: list[str] = []

__getattr__ = missing("determined.common.api", __all__)
