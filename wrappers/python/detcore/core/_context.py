"""Starting and ending a run."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._capi import library, milliseconds
from detcore._json import encode
from detcore.core import _info
from detcore.core import _options as options
from detcore.core._checkpoint import CheckpointContext
from detcore.core._core import Core
from detcore.core._distributed import DistributedContext
from detcore.core._preempt import PreemptContext, PreemptMode
from detcore.core._profiler import ProfilerContext
from detcore.core._searcher import SearcherContext
from detcore.core._tensorboard import TensorboardContext
from detcore.core._train import TensorboardMode, TrainContext
from detcore.errors import InvalidHP, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
    master: str | os.PathLike[str] | None = None,
    trial_id: int | None = None,
    external_id: str | None = None,
    external_experiment_id: str | None = None,
    name: str | None = None,
    config: Mapping[str, Any] | None = None,
    hparams: Mapping[str, Any] | None = None,
    preempt_signals: Iterable[int] = (),
    stack_trace_signal: int | None = signal.SIGUSR1,
    capture_output: bool = False,
    durable_reports: bool = False,
    close_at_end: bool = True,
    journal_limit: int = 1 << 30,
    journal_wait: float | None = 10,
    close_wait: float | None = 60,
    run_wait: float = 0,
    log_level: str | int = "WARNING",
) -> Context:
    """Starts a run: `with core.init() as context: ...`.

    The first four arguments are those of determined.core; the others are options of det_core_init()
    and have its defaults. `journal_wait` and `close_wait` are seconds, None for no limit, and
    `run_wait` how many to wait for the end of the run before. On
    `stack_trace_signal` the stack of Python is printed to standard error.
    """
    if distributed is not None and not isinstance(distributed, DistributedContext):
        raise TypeError(
            f"distributed must be a core.DistributedContext, not {type(distributed).__name__}"
        )
    preempting = options.signals(preempt_signals)
    stack_signal = options.stack_trace_signal(stack_trace_signal)
    given = {
        "checkpoint_storage": options.storage(checkpoint_storage),
        "preempt_mode": PreemptMode(preempt_mode).value,
        "tensorboard_mode": TensorboardMode(tensorboard_mode).value,
        "master": options.text(master, "master"),
        "trial_id": options.optional_integer(trial_id, "trial_id"),
        "external_id": options.text(external_id, "external_id"),
        "external_experiment_id": options.text(external_experiment_id, "external_experiment_id"),
        "name": options.text(name, "name") or options.name_of_program(config),
        "config_json": options.json_object(config, "config"),
        "hparams_json": options.json_object(hparams, "hparams"),
        "preempt_signals": preempting,
        "capture_output": bool(capture_output),
        "durable_reports": bool(durable_reports),
        "close_at_end": bool(close_at_end),
        "journal_limit": options.optional_integer(journal_limit, "journal_limit"),
        "journal_wait_ms": milliseconds(journal_wait, "journal_wait"),
        "close_wait_ms": milliseconds(close_wait, "close_wait"),
        "run_wait_ms": milliseconds(run_wait, "run_wait"),
        "log_level": options.log_level(log_level),
    }
    core = Core(encode(given, "an option of core.init()"), distributed)
    try:
        if stack_signal is not None and stack_signal not in preempting:
            _print_stack_on(stack_signal)
        return _context_of(core, distributed)
    except BaseException:
        core.close(_abi.DET_OUTCOME_ERROR)
        raise


def _print_stack_on(number: int) -> None:
    # What it would chain to, where there is nothing, ends the process.
    previous = signal.getsignal(number)
    try:
        faulthandler.register(
            number, file=sys.__stderr__ or 2, all_threads=False, chain=callable(previous)
        )
    except (AttributeError, OSError, RuntimeError, ValueError):
        return  # without a standard error there is nobody to tell


def _context_of(core: Core, distributed: DistributedContext | None) -> Context:
    view = core.view("info")
    facts = library.det_info_json(view).decode(), library.det_info_config_json(view).decode()
    context = Context(
        CheckpointContext(core),
        distributed or DistributedContext(),
        PreemptContext(core),
        TrainContext(core),
        SearcherContext(core),
        _info.of_run(*facts),
        profiler=ProfilerContext(core),
        tensorboard=TensorboardContext(core),
    )
    context._core = core
    return context


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
        tensorboard: TensorboardContext | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        # core.init() gives them all; what a context made by hand lacks is None.
        self.distributed: DistributedContext = distributed  # type: ignore[assignment]
        self.preempt: PreemptContext = preempt  # type: ignore[assignment]
        self.train: TrainContext = train  # type: ignore[assignment]
        self.searcher: SearcherContext = searcher  # type: ignore[assignment]
        self.info: _info.ClusterInfo = info  # type: ignore[assignment]
        self.profiler: ProfilerContext = profiler  # type: ignore[assignment]
        self.tensorboard: TensorboardContext = tensorboard  # type: ignore[assignment]
        self.experimental = experimental
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
        if self._core is not None:
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
            is_as_told = isinstance(exc_val, SystemExit) and exc_val.code == self.exit_status
            self._core.close(_abi.DET_OUTCOME_OK if is_as_told else _outcome(exc_type, exc_val))

    @property
    def exit_status(self) -> int:
        """What the process should leave with (sys.exit()): 0; 75 where the run was told to stop
        before its end, and continues with the next start; 1 where it failed."""
        return 0 if self._core is None else self._core.exit_status()

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
    if issubclass(exc_type, GeneratorExit):  # nobody goes on with what the block is in
        return _abi.DET_OUTCOME_OK
    if isinstance(exc_val, SystemExit) and exc_val.code in (None, 0):
        return _abi.DET_OUTCOME_OK
    return _abi.DET_OUTCOME_ERROR
