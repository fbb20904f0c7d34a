"""Gets from the search how far this trial should train."""

from __future__ import annotations

import enum
import json
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._arguments import real
from detcore._capi import call, library
from detcore._interruptible import interruptible
from detcore._json import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detcore.core._core import Core


class SearcherMode(enum.Enum):
    """Says which ranks call operations()."""

    #: All ranks call it in step. The chief asks the master.
    WorkersAskChief = "WORKERS_ASK_CHIEF"
    #: Only the chief calls it.
    ChiefOnly = "CHEIF_ONLY"  # the spelling of determined.core


class Unit(enum.Enum):
    """The unit of all lengths of a search."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


_MODES = {
    SearcherMode.WorkersAskChief: _abi.DET_SEARCHER_MODE_WORKERS_ASK_CHIEF,
    SearcherMode.ChiefOnly: _abi.DET_SEARCHER_MODE_CHIEF_ONLY,
}
_UNITS = {
    _abi.DET_LENGTH_UNIT_EPOCHS: Unit.EPOCHS,
    _abi.DET_LENGTH_UNIT_RECORDS: Unit.RECORDS,
    _abi.DET_LENGTH_UNIT_BATCHES: Unit.BATCHES,
}


class SearcherOperation:
    """One request of the search: train up to a length, validate, and report. Only the chief
    reports."""

    def __init__(self, core: Core, address: int) -> None:
        self._core = core
        self._address = address
        self._completed = False
        self._length: int = library.det_searcher_op_length(address)

    @property
    def length(self) -> int:
        """The length to train to, counted from the beginning of the trial."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Reports how far training has come, in the unit of `length`. It does not block."""
        call("det_searcher_op_report_progress", self._address, real(length, "length"))

    def report_completed(self, searcher_metric: Any) -> None:
        """Completes the operation with the metric of the search. Call it once, on the chief.

        It blocks until the master has this report and all earlier ones.

        Args:
            searcher_metric: A number. For your own search method it may be any JSON value.
        """
        text = encode(searcher_metric, "searcher_metric")
        metric = json.loads(text)
        if isinstance(metric, float):  # also infinity and NaN, which JSON does not have
            interruptible(lambda: self._complete("", metric))
        else:
            interruptible(lambda: self._complete("_json", text))

    def _complete(self, form: str, metric: float | bytes) -> None:
        call("det_searcher_op_report_completed" + form, self._address, metric)
        self._completed = True


class SearcherContext:
    """Gets from the search how far to train: `context.searcher`."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._view = core.view("searcher")
        self._configured: tuple[SearcherMode, bool] | None = None
        self._last: SearcherOperation | None = None

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields the operations of the search, one after the other. Complete each before the next.

        By default all ranks call it in step. At the end it tells the master that this process
        leaves because there is no more work.

        If you left an earlier loop before its operation was complete, you get that operation again.
        In a job of several ranks that is an error.

        Args:
            searcher_mode: Says which ranks call it.
            auto_ack: False: the master gets no notice at the end. Call acknowledge_out_of_ops()
                yourself.
        """
        self._configure(SearcherMode(searcher_mode), bool(auto_ack))
        last = self._last
        if last is not None and not last._completed and self._is_alone():
            yield last
        while True:
            operation = interruptible(self._next)
            if operation is None:
                return
            self._last = operation
            yield operation

    def _configure(self, mode: SearcherMode, auto_ack: bool) -> None:
        if self._configured == (mode, auto_ack):
            return
        call("det_searcher_configure", self._view, _MODES[mode], int(auto_ack))
        self._configured = mode, auto_ack

    def _is_alone(self) -> bool:
        return bool(library.det_distributed_size(self._core.view("distributed")) == 1)

    def _next(self) -> SearcherOperation | None:
        out = c_void_p()
        if call("det_searcher_next", self._view, byref(out)) == _abi.DET_DONE:
            return None
        return SearcherOperation(self._core, out.value or 0)

    def acknowledge_out_of_ops(self) -> None:
        """Tells the master that this process leaves because there is no more work."""
        interruptible(lambda: call("det_searcher_acknowledge_out_of_ops", self._view))

    def get_configured_units(self) -> Unit | None:
        """Returns the unit of every length, from the configuration. None if the configuration has
        no unit."""
        return _UNITS.get(library.det_searcher_configured_units(self._view))
