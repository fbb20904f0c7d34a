"""Reads metrics: series of one metric, and single reports."""

from __future__ import annotations

import array
import ctypes
import dataclasses
import datetime
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from detcore import _capi
from detcore.client._connection import Connection, entries, page_of
from detcore.client._record import time

NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class MetricSeries(NamedTuple):
    """The values of one metric, in the order of their reports: three arrays of one length.

    They are NumPy arrays, or array.array without NumPy. `times_us` has microseconds since 1970
    (UTC); 0 is unknown.
    """

    steps_completed: Any
    values: Any
    times_us: Any


@dataclasses.dataclass(frozen=True)
class TrialMetrics:
    """One report of a trial."""

    trial_id: int
    trial_run_id: int | None
    group: str
    steps_completed: int
    report_time: datetime.datetime | None
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    rank: int | None


def read_series(connection: Connection, trial_id: int, group: str, name: str) -> MetricSeries:
    def read(client: int) -> MetricSeries:
        series = _capi.handle(
            "det_client_get_metric_series",
            client,
            trial_id,
            _capi.encoded(group, "group"),
            _capi.encoded(name, "name"),
        )
        try:
            return _copied(series)
        finally:
            _capi.library.det_metric_series_free(series)

    return connection.use(read)


def _copied(series: int) -> MetricSeries:
    count = _capi.library.det_metric_series_count(series)
    return MetricSeries(
        _array(_capi.library.det_metric_series_steps_completed(series), count, "q"),
        _array(_capi.library.det_metric_series_values(series), count, "d"),
        _array(_capi.library.det_metric_series_times_us(series), count, "q"),
    )


def _array(borrowed: Any, count: int, kind: str) -> Any:
    own = array.array(kind)
    if count > 0:
        own.frombytes(ctypes.string_at(borrowed, count * own.itemsize))
    try:
        numpy: Any = importlib.import_module("numpy")
    except ImportError:
        return own
    return numpy.frombuffer(own, dtype=kind) if count > 0 else numpy.zeros(0, dtype=kind)


def read_reports(
    connection: Connection, trial_id: int, group: str | None
) -> Iterator[TrialMetrics]:
    found = entries(
        connection,
        "det_client_list_metrics",
        trial_id,
        _capi.encoded(group, "group"),
        page=page_of(),
    )
    for entry in found:
        batches = entry["batch_metrics"]
        yield TrialMetrics(
            trial_id,
            entry["trial_run_id"],
            entry["group"],
            entry["steps_completed"],
            time(entry["time"]),
            _with_numbers(entry["metrics"]),
            None if batches is None else [_with_numbers(batch) for batch in batches],
            entry["rank"],
        )


def _with_numbers(value: Any) -> Any:
    """Replaces the texts for NaN and infinities by numbers, because JSON does not have these."""
    if isinstance(value, str):
        return NUMBERS.get(value, value)
    if isinstance(value, dict):
        return {name: _with_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_numbers(inner) for inner in value]
    return value


def flattened(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Converts {"a": {"b": 1}} to {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and value:
            flat.update(flattened(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def frame(rows: list[dict[str, Any]], index: str, columns: list[str]) -> Any:
    """Returns a pandas.DataFrame. It has `columns` also if no row does."""
    try:
        pandas: Any = importlib.import_module("pandas")
    except ImportError as failure:
        raise ImportError(
            "dataframe() needs pandas, which is not installed: pip install pandas"
        ) from failure
    table = pandas.DataFrame(rows, columns=None if rows else columns)
    return table.set_index(index)
