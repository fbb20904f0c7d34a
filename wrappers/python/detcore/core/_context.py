"""Starts and ends a run."""

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
    """Starts the run of a trial: `with core.init() as context: ...`.

    Without a cluster and a master it opens or makes the store of this user. It makes a new
    experiment with one trial, or resumes the trial that you name. In a job of several ranks all
    ranks call it in step. It blocks.

    Args:
        distributed: The ranks of this job. None: this process alone.
        checkpoint_storage: A directory, a URI, or a `checkpoint_storage` dict. None: the one of the
            configuration, else the directory of the store.
        preempt_mode: Sets which ranks call should_preempt(), and which one decides.
        tensorboard_mode: Sets how TensorBoard files are kept.
        master: The URL of a master, or the directory of a store.
        trial_id: The trial to resume.
        external_id: Your own name for the trial. The next start with this name resumes it.
        external_experiment_id: On a master over HTTP, your own name for the experiment.
        name: The name of a new experiment.
        config: The configuration of a new experiment.
        hparams: The hyperparameters of a new trial.
        preempt_signals: Signals that ask this process to stop, such as [signal.SIGTERM].
        stack_trace_signal: A signal that prints the stack of Python to standard error. None: no
            signal.
        capture_output: True: the output of this process also goes to the trial's log.
        durable_reports: True: each report waits for the disk, and survives a power cut.
        close_at_end: True: a process that ends without close() closes the run first.
        journal_limit: The greatest size of the journal in bytes.
        journal_wait: Seconds that a report may wait for room in the journal. None: no limit.
        close_wait: Seconds that the end waits for the master to take the last reports. None: no
            limit.
        run_wait: Seconds to wait for the end of the previous run of this trial.
        log_level: Lines of the library below this level are dropped.

    Returns:
        A context. The run starts here, and ends with the `with` block.
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
    # Without a handler before it, faulthandler would end the process after it has printed.
    previous = signal.getsignal(number)
    try:
        faulthandler.register(
            number, file=sys.__stderr__ or 2, all_threads=False, chain=callable(previous)
        )
    except (AttributeError, OSError, RuntimeError, ValueError):
        return  # without a standard error it has nowhere to print


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
    """The parts of one run, as core.init() returns it. The end of its `with` block ends the run.

    If an exception leaves the block, the run ends as an error. If that exception is InvalidHP, the
    process leaves with status 0, because another start would not help.
    """

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
        # core.init() gives all of them. Parts that a context made by hand lacks are None.
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
        """Does what entering the `with` block does. Call it once."""
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
        """Ends the run, as the end of the `with` block does. A second call does nothing.

        It delivers every report to the master, and reports how the run ended. It blocks. Each rank
        closes for itself.
        """
        if self._core is not None:
            is_as_told = isinstance(exc_val, SystemExit) and exc_val.code == self.exit_status
            self._core.close(_abi.DET_OUTCOME_OK if is_as_told else _outcome(exc_type, exc_val))

    @property
    def exit_status(self) -> int:
        """The status with which the process should leave, for sys.exit().

        It is 0 if nothing more is to do, and 1 if the run failed. It is 75 if the run was asked to
        stop before its end. The next start then resumes it.
        """
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
            # The first failure counts: it is the one to fix.
            warnings.warn(f"{failure}", RuntimeWarning, stacklevel=2)
        if exc_type is not None and issubclass(exc_type, InvalidHP):
            # After a status of failure a master would start the trial again.
            print(f"{exc_type.__name__}: {exc_val}", file=sys.stderr)
            raise SystemExit(0)


def _outcome(exc_type: type[BaseException] | None, exc_val: BaseException | None) -> int:
    if exc_type is None:
        return _abi.DET_OUTCOME_OK
    if issubclass(exc_type, InvalidHP):
        return _abi.DET_OUTCOME_INVALID_HP
    if issubclass(exc_type, GeneratorExit):  # nobody resumes the generator that the block is in
        return _abi.DET_OUTCOME_OK
    if isinstance(exc_val, SystemExit) and exc_val.code in (None, 0):
        return _abi.DET_OUTCOME_OK
    return _abi.DET_OUTCOME_ERROR
