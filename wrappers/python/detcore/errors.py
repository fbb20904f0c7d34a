"""What calls of the library raise, and what a trial raises.

Each class except InvalidHP is a detcore.Error, and also the exception of Python that says the
same, which is what determined.core raised: `except ValueError` goes on to work.
"""

from __future__ import annotations

from typing import Any

from detcore import _abi


class Error(Exception):
    """A call failed. The text says what was tried, on what, and what to do."""

    def __init__(
        self,
        message: str,
        *,
        code: int = _abi.DET_E_INTERNAL,
        os_errno: int = 0,
        http_status: int = 0,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        #: One of the DET_E_* of the C API.
        self.code = code
        #: Of the system call that failed, or 0.
        self.os_errno = os_errno
        #: Of the master's answer, or 0.
        self.http_status = http_status
        #: Whether the same call may go well a little later.
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self._facts()

    def _facts(self) -> tuple[Any, ...]:
        numbers = self.code, self.os_errno, self.http_status, self.retryable
        return (type(self), self.message, *numbers)


def _restored(
    kind: type[Error], message: str, code: int, os_errno: int, http_status: int, retryable: bool
) -> Error:
    return kind(message, code=code, os_errno=os_errno, http_status=http_status, retryable=retryable)


class InvalidHP(Exception):
    """Raised by a trial whose hyperparameters cannot be trained: the search goes on without it."""

    def __init__(self, msg: str | None = None) -> None:
        if msg is not None and not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes text, not {type(msg).__name__}")
        super().__init__(msg if msg is not None else "the hyperparameters cannot be trained")


class InvalidArgumentError(Error, ValueError):
    """An argument has a wrong value."""


class MissingChiefError(InvalidArgumentError, AssertionError):
    """The ranks of several machines do not know where their chief is."""


class NotFoundError(Error, LookupError, FileNotFoundError):
    """No such checkpoint, trial, experiment, file or value."""


class MissingVariableError(NotFoundError, KeyError):
    """A variable of the environment is missing."""


class StorageError(Error, OSError):
    """A file failed; see os_errno."""


class DetTimeoutError(Error, TimeoutError):
    """Not done within the time allowed."""


class StoppedByCallbackError(Error, RuntimeError):
    """A callback asked to stop."""


class UnsupportedError(Error, NotImplementedError):
    """Not in this build or this release."""


class StateError(Error, RuntimeError):
    """Wrong order of calls, wrong rank, or already closed."""


class AccessError(Error, PermissionError):
    """Permission or credentials are missing."""


class CorruptError(Error, RuntimeError):
    """Stored data does not match its checksum or format."""


class FullError(Error, OSError):
    """The disk, a quota or the journal is full."""


class BusyError(Error, RuntimeError):
    """Another process holds what is needed."""


class ConflictError(Error, RuntimeError):
    """Two ranks or two reports contradict each other."""


class UnavailableError(Error, ConnectionError):
    """The master does not answer."""


class HTTPError(Error, RuntimeError):
    """The master answers with a failure of its own; see http_status."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""


class InternalError(Error, RuntimeError):
    """A defect of the library; please report it."""


class LibraryError(ImportError):
    """libdetcore cannot be loaded, or is not the one that this package needs."""


_BY_CODE: dict[int, type[Error]] = {
    _abi.DET_E_INTERNAL: InternalError,
    _abi.DET_E_NOMEM: OutOfMemoryError,
    _abi.DET_E_INVALID: InvalidArgumentError,
    _abi.DET_E_NOT_FOUND: NotFoundError,
    _abi.DET_E_IO: StorageError,
    _abi.DET_E_TIMEOUT: DetTimeoutError,
    _abi.DET_E_CALLBACK: StoppedByCallbackError,
    _abi.DET_E_UNSUPPORTED: UnsupportedError,
    _abi.DET_E_STATE: StateError,
    _abi.DET_E_ACCESS: AccessError,
    _abi.DET_E_CORRUPT: CorruptError,
    _abi.DET_E_FULL: FullError,
    _abi.DET_E_BUSY: BusyError,
    _abi.DET_E_CONFLICT: ConflictError,
    _abi.DET_E_UNAVAILABLE: UnavailableError,
    _abi.DET_E_HTTP: HTTPError,
}


#: What messages of the library speak of, by the names that it has here.
IN_PYTHON = {
    "det_checkpoint_delete": "checkpoint.delete",
    "det_checkpoint_download": "checkpoint.download",
    "det_checkpoint_reader_open": "checkpoint.restore_path",
    "det_checkpoint_writer_begin": "checkpoint.store_path",
    "det_checkpoint_writer_commit": "checkpoint.store_path",
    "det_checkpoint_writer_commit_async": "checkpoint.store_async",
    "det_checkpoint_writer_set_metadata": "checkpoint.store_path",
    "det_checkpoint_ticket_cancel": "SaveTicket.cancel",
    "det_checkpoint_ticket_wait": "SaveTicket.wait",
    "det_checkpoint_upload": "checkpoint.upload",
    "det_checkpoint_upload_async": "checkpoint.upload_async",
    "det_core_close": "context.close",
    "det_core_init": "core.init",
    "det_distributed_from_mpi": "DistributedContext.from_mpi",
    "det_distributed_from_mpi_world": "DistributedContext.from_mpi",
    "det_preempt_should_preempt": "preempt.should_preempt",
    "det_save_limits": "checkpoint.limit_saves()",
    "det_searcher_next": "searcher.operations",
    "det_staging_options": "checkpoint.stage_saves()",
    "det_tensors_write": "write_tensors",
    "det_trial_average_metrics": "average_metrics",
    "det_trial_broadcast": "broadcast_arrays",
    "det_trial_gradients_create": "Gradients",
    "det_trial_gradients_step": "Gradients.step",
    "det_trial_sequencer_create": "Sequencer",
    "det_trial_sequencer_load_state": "Sequencer.load_state",
    "det_trial_sequencer_next": "Sequencer.next",
    "det_trial_sequencer_respond": "Sequencer.respond",
    "det_trial_sequencer_respond_invalid_hparams": "Sequencer.respond_invalid_hparams",
}


def in_python(message: str) -> str:
    """A message of the library, for those who call it from here."""
    import re  # a failure may wait for it, a start may not

    message = re.sub(r"\bdet_core_options\.(\w+)", r"\1 of core.init()", message)
    return re.sub(r"\bdet_[a-z_]+", lambda name: IN_PYTHON.get(name[0], name[0]), message)


def from_c(error: _abi.det_error) -> Error:
    """The exception of what a function of the library filled in."""
    raised = _BY_CODE.get(error.code, InternalError)(
        in_python(error.message.decode("utf-8", "replace")),
        code=error.code,
        os_errno=error.os_errno,
        http_status=error.http_status,
        retryable=bool(error.retryable),
    )
    if isinstance(raised, OSError):
        raised.errno = error.os_errno or None
    return raised
