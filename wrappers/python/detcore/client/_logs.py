"""Reads the lines of a trial's log, also while it runs."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import datetime
import time as clock
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from detcore._arguments import integer
from detcore.client._connection import Connection, page_of
from detcore.client._record import time
from detcore.client._states import LogLevel

_BETWEEN_LOOKS = 0.2  # seconds


@dataclasses.dataclass(frozen=True)
class LogLine:
    """One line of a trial's log."""

    time: datetime.datetime | None
    level: LogLevel
    rank: int | None
    trial_run_id: int | None
    text: str

    def __str__(self) -> str:
        return self.text


class _Reader:
    """Reads each line once. The last page has no cursor after it, so it is read again."""

    def __init__(self, connection: Connection, trial_id: int) -> None:
        self._connection = connection
        self._trial_id = trial_id
        self._page = page_of()
        self._seen = 0  # lines of the last page that were returned

    def new_lines(self) -> Iterator[LogLine]:
        while True:
            answer = self._connection.ask(
                "det_client_list_logs", self._trial_id, ctypes.byref(self._page)
            )
            for entry in answer["logs"][self._seen :]:
                self._seen += 1
                yield _line(entry)
            if answer["next"] is None:
                return
            self._page.after = answer["next"]
            self._seen = 0


def _line(entry: dict[str, Any]) -> LogLine:
    return LogLine(
        time(entry["time"]),
        LogLevel(entry["level"]),
        entry["rank"],
        entry["trial_run_id"],
        entry["text"],
    )


def filter_of(
    min_level: LogLevel | None,
    rank_ids: Iterable[int] | None,
    before: str | datetime.datetime | None,
    after: str | datetime.datetime | None,
    text: str | None,
) -> Callable[[LogLine], bool]:
    """Returns a function that chooses lines. A time without a zone is UTC.

    A line without a rank or a time does not match a filter for ranks or times.
    """
    levels = list(LogLevel)
    least = levels.index(LogLevel(min_level or LogLevel.DEBUG))
    ranks = None if rank_ids is None else set(rank_ids)
    until, since = _time_of(before), _time_of(after)

    def is_wanted(line: LogLine) -> bool:
        return (
            levels.index(line.level) >= least
            and (ranks is None or line.rank in ranks)
            and (until is None or (line.time is not None and line.time <= until))
            and (since is None or (line.time is not None and line.time >= since))
            and (text is None or text in line.text)
        )

    return is_wanted


def _time_of(given: str | datetime.datetime | None) -> datetime.datetime | None:
    found = time(given) if isinstance(given, str) else given
    if found is None or found.tzinfo is not None:
        return found
    return found.replace(tzinfo=datetime.timezone.utc)


def iter_logs(
    connection: Connection,
    trial_id: int,
    *,
    follow: bool,
    head: int | None,
    tail: int | None,
    wanted: Callable[[LogLine], bool],
    has_ended: Callable[[], bool],
) -> Iterator[LogLine]:
    for name, count in (("head", head), ("tail", tail)):
        if count is not None and integer(count, name) < 0:
            raise ValueError(f"{name} must not be negative: {count}")
    if head is not None and (follow or tail is not None):
        raise ValueError("head goes with neither tail nor follow: the first lines do not change")
    reader = _Reader(connection, trial_id)

    def new_lines() -> Iterator[LogLine]:
        return filter(wanted, reader.new_lines())

    if head is not None:
        for _, line in zip(range(head), new_lines()):
            yield line
        return
    first = new_lines()
    yield from first if tail is None else collections.deque(first, maxlen=tail)
    while follow:
        clock.sleep(_BETWEEN_LOOKS)
        follow = not has_ended()  # asked first: nothing is added after that
        yield from new_lines()
