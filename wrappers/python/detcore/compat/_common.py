"""`determined.common`. Scripts use the exceptions in its `api.errors`."""

from __future__ import annotations

from detcore.compat import missing

__all__: list[str] = []
__path__: list[str] = []

__getattr__ = missing("determined.common", ["api"])
