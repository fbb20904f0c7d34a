"""Makes repeated reports fast: a struct for C is made once for each set of names.

A training loop reports the same few names again and again. The struct stays, so a report only
writes its values and makes one call without conversions. While a struct is being filled, it is out
of its list. So threads and signal handlers never share one.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Mapping
from ctypes import byref
from typing import Any

from detcore import _abi
from detcore._capi import encoded, library, new_error, new_struct
from detcore.errors import from_c

# The most sets of names that a group keeps. A program that invents names gains nothing from them.
_MOST = 64

# Takes the steps and the metrics. False: nothing was reported, because a value is not a number.
Send = Callable[[int, Mapping[str, Any]], bool]
# The report, its values, the two arguments of the call, and the error that it fills in.
_Report = tuple[Any, Any, Any, Any, _abi.det_error]


class Reports:
    """The structs of one group of a det_train_context."""

    def __init__(self, view: int, group: str) -> None:
        self._view = ctypes.c_void_p.from_param(view)  # converted once
        self._group = encoded(group, "the group of metrics")
        #: Each sender, by the names that were prepared.
        self.senders: dict[tuple[str, ...], Send] = {}

    def send(self, steps_completed: int, metrics: Mapping[str, Any]) -> bool:
        """Reports numbers under prepared names.

        It returns False and reports nothing if the names are not prepared or a value is not a
        number.
        """
        try:
            return self.senders[tuple(metrics)](steps_completed, metrics)
        except (KeyError, TypeError):
            return False

    def prepare(self, names: Iterable[str]) -> None:
        key = tuple(names)
        if len(self.senders) >= _MOST and key not in self.senders:
            self.senders.clear()
        if key not in self.senders:
            new = functools.partial(self._report, key)
            call = library.unconverted("det_train_report")
            self.senders[key] = _sender(len(key))([new()], new, call, self._view, from_c)

    def _report(self, names: tuple[str, ...]) -> _Report:
        metrics = (_abi.det_metric * len(names))()
        for metric, name in zip(metrics, names):
            metric.name = encoded(name, "the name of a metric")
        report = new_struct(_abi.det_report)
        report.group, report.metrics, report.count = self._group, metrics, len(names)
        error_argument, error = new_error()
        return (
            memoryview(report).cast("B").cast("q"),
            memoryview(metrics).cast("B").cast("d"),
            byref(report),
            error_argument,
            error,
        )


@functools.cache
def _sender(count: int) -> Callable[..., Send]:
    """Makes the functions that send `count` values.

    All values are in one assignment, because a loop costs as much as the call. `free` has the
    structs that nobody uses at the moment.
    """
    steps = _abi.det_report.steps_completed.offset // 8
    first, words = _abi.det_metric.value.offset // 8, ctypes.sizeof(_abi.det_metric) // 8
    places = range(first, first + words * count, words)
    source = f"""
def make(free, new, call, train, failure_of):
    def send(steps_completed, metrics):
        try:
            taken = free.pop()
        except IndexError:
            taken = new()
        report, values, report_argument, error_argument, error = taken
        try:
            if steps_completed is True or steps_completed is False:
                return False
            report[{steps}] = steps_completed
            {"".join(f"values[{place}], " for place in places)} = metrics.values()
            if call(train, report_argument, error_argument) == 0:
                return True
            failure = failure_of(error)
        except Exception:  # of a value's own __float__ as well
            return False
        finally:
            free.append(taken)
        raise failure
    return send
"""
    made: dict[str, Any] = {}
    exec(source, made)
    return made["make"]  # type: ignore[no-any-return]
