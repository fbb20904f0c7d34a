"""The fast way of a report: a struct for C that is made once for a set of names.

A training loop reports the same few names again and again. What C needs of them is kept: then a
report is writing its values in place, and one call without conversions. A struct is taken out of
its list while it is filled, so threads and signal handlers never meet in one.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Mapping
from ctypes import byref
from typing import Any

from detcore import _abi
from detcore._capi import encoded, library, new_error
from detcore.errors import from_c

# As many sets of names as a group may have; a program that makes up names has no use for structs.
_MOST = 64

# Takes the steps and the values, and answers the status.
Send = Callable[[int, Iterable[Any]], int]


class Reports:
    """Those of one group of a det_train_context."""

    def __init__(self, view: int, group: str) -> None:
        self._view = ctypes.c_void_p.from_param(view)  # converted once
        self._group = encoded(group, "the group of metrics")
        self._free: dict[tuple[str, ...], list[tuple[Send, _abi.det_error]]] = {}

    def send(self, steps_completed: int, metrics: Mapping[str, Any]) -> bool:
        """Reports numbers under names that were prepared. False: nothing was reported, since they
        are other names, or not numbers."""
        try:
            free = self._free[tuple(metrics)]
            report = free.pop()
        except (KeyError, IndexError, TypeError):
            return False
        send, error = report
        try:
            if send(steps_completed, metrics.values()) == 0:
                free.append(report)
                return True
        except Exception:  # of a value's own __float__ as well
            free.append(report)
            return False
        failure = from_c(error)
        free.append(report)
        raise failure

    def prepare(self, names: Iterable[str]) -> None:
        """For names that send() did not know, or that are all in use."""
        key = tuple(names)
        if len(self._free) >= _MOST and key not in self._free:
            self._free.clear()
        free = self._free.setdefault(key, [])
        if not free:
            free.append(self._report(key))

    def _report(self, names: tuple[str, ...]) -> tuple[Send, _abi.det_error]:
        metrics = (_abi.det_metric * len(names))()
        for metric, name in zip(metrics, names):
            metric.name = encoded(name, "the name of a metric")
        report = _abi.det_report()
        library.det_report_init(byref(report))
        report.group, report.metrics, report.count = self._group, metrics, len(names)
        error_argument, error = new_error()
        send: Send = _sender(len(names))(
            memoryview(report).cast("B").cast("q"),
            memoryview(metrics).cast("B").cast("d"),
            library.unconverted("det_train_report"),
            self._view,
            byref(report),
            error_argument,
        )
        return send, error


@functools.cache
def _sender(count: int) -> Callable[..., Send]:
    """Makes the functions that send `count` values: with all of them in one assignment, since a
    loop costs as much as the call."""
    steps = _abi.det_report.steps_completed.offset // 8
    first, words = _abi.det_metric.value.offset // 8, ctypes.sizeof(_abi.det_metric) // 8
    places = range(first, first + words * count, words)
    source = f"""
def make(report, values, call, train, report_argument, error_argument):
    def send(steps_completed, given):
        if steps_completed is True or steps_completed is False:
            raise TypeError
        report[{steps}] = steps_completed
        {"".join(f"values[{place}], " for place in places)} = given
        return call(train, report_argument, error_argument)
    return send
"""
    made: dict[str, Any] = {}
    exec(source, made)
    return made["make"]  # type: ignore[no-any-return]
