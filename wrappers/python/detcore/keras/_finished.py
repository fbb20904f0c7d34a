"""The way out of fit()."""

from __future__ import annotations


class Finished(Exception):
    """There are no more workloads. fit() ends with an exception, for by itself it never would."""
