"""The way out of a training that by itself never ends."""

from __future__ import annotations


class Finished(Exception):
    """There are no more workloads: the framework's loop is left by an exception."""
