"""Starting and ending a run."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from detcore import InvalidHP, _abi
from detcore._capi import library, milliseconds
from detcore.core import _info
from detcore.core._checkpoint import CheckpointContext
from detcore.core._core import Core
from detcore.core._preempt import PreemptContext, PreemptMode
from detcore.core._train import TensorboardMode, TrainContext
from detcore.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from detcore.core._distributed import DistributedContext
    from detcore.core._profiler import ProfilerContext
    from detcore.core._searcher import SearcherContext


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
    master: str | os.PathLike[str] | None = None,
    trial_id: int | None = None,
    external_id: str | None = None,
    external_experiment_id: str | None = None,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    hparams: Mapping[str, Any] | None = None,
    preempt_signals: Sequence[int] = (),
    spool_limit: int = 0,
    spool_wait: float | None = 10,
    close_wait: float | None = 60,
    capture_output: bool = False,
    durable_reports: bool = False,
    close_at_end: bool = True,
    log_level: str = "WARNING",
) -> Context:
    """Starts a run: `with core.init() as context: ...`."""
    if isinstance(checkpoint_storage, dict) and "type" not in checkpoint_storage:
        raise KeyError("type")
    options = {
        "checkpoint_storage": checkpoint_storage,
        "preempt_mode": PreemptMode(preempt_mode).value,
        "tensorboard_mode": TensorboardMode(tensorboard_mode).value,
        "master": None if master is None else os.fspath(master),
        "trial_id": trial_id,
        "external_id": external_id,
        "external_experiment_id": external_experiment_id,
        "name": name,
        "config_json": config,
        "hparams_json": hparams,
        "preempt_signals": [int(signal) for signal in preempt_signals],
        "spool_limit": spool_limit,
        "spool_wait_ms": milliseconds(spool_wait, "spool_wait"),
        "close_wait_ms": milliseconds(close_wait, "close_wait"),
        "capture_output": capture_output,
        "durable_reports": durable_reports,
        "close_at_end": close_at_end,
        "log_level": log_level,
    }
    return _context_of(Core(json.dumps(options).encode(), distributed), distributed)


def _context_of(core: Core, distributed: DistributedContext | None) -> Context:
    text = library.det_info_json(core.view("info")).decode()
    context = Context(
        CheckpointContext(core),
        preempt=PreemptContext(core),
        train=TrainContext(core),
        info=_info.of_run(text),
        **_others(core, distributed),
    )
    context._core = core
    return context


def _others(core: Core, distributed: DistributedContext | None) -> dict[str, Any]:
    # While the modules are not all there.
    try:
        from detcore.core._distributed import DistributedContext
        from detcore.core._profiler import ProfilerContext
        from detcore.core._searcher import SearcherContext
    except ImportError:
        return {}
    return {
        "distributed": distributed or DistributedContext._of_core(core),
        "searcher": SearcherContext(core),
        "profiler": ProfilerContext(core),
    }


class Context:
    """The parts of a run. Entering it starts it and leaving it ends the run, in good order or, by
    the exception on its way, as an error."""

    def __init__(
        self,
        checkpoint: CheckpointContext,
        distributed: DistributedContext | None = None,
        preempt: PreemptContext | None = None,
        train: TrainContext | None = None,
        searcher: SearcherContext | None = None,
        info: _info.ClusterInfo | None = None,
        experimental: object | None = None,
        profiler: ProfilerContext | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.distributed = distributed
        self.preempt = preempt
        self.train = train
        self.searcher = searcher
        self.info = info
        self.experimental = experimental
        self.profiler = profiler
        self._core: Core | None = None
        self._is_started = False

    def start(self) -> None:
        """What entering the `with` block does. Once."""
        if self._is_started:
            raise StateError(
                "starting a core.Context: it was started before; make a new one with core.init()",
                code=_abi.DET_E_STATE,
            )
        self._is_started = True
        if self.preempt is not None:
            self.preempt._start()

    def close(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """What leaving the `with` block does: carries every report to the master and tells it how
        the run ended. A repeat does nothing."""
        if self._core is not None:
            self._core.close(_outcome(exc_type, exc_val))

    def __enter__(self) -> Context:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        try:
            self.close(exc_type, exc_val, exc_tb)
        except Exception as failure:
            if exc_type is None:
                raise
            # What happened first is what is to be mended.
            warnings.warn(f"{failure}", RuntimeWarning, stacklevel=2)
        if exc_type is not None and issubclass(exc_type, InvalidHP):
            # A status of failure would make a master start the trial again.
            print(f"{exc_type.__name__}: {exc_val}", file=sys.stderr)
            raise SystemExit(0)


def _outcome(exc_type: type[BaseException] | None, exc_val: BaseException | None) -> int:
    if exc_type is None:
        return _abi.DET_OUTCOME_OK
    if issubclass(exc_type, InvalidHP):
        return _abi.DET_OUTCOME_INVALID_HP
    if isinstance(exc_val, SystemExit) and exc_val.code in (None, 0):
        return _abi.DET_OUTCOME_OK
    return _abi.DET_OUTCOME_ERROR
