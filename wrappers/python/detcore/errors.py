"""The exceptions of this package.

Each class except InvalidHP and LibraryError is a detcore.Error. It is also the exception of Python
with the same meaning, which determined.core raised. So `except ValueError` still works.
"""

from __future__ import annotations

from typing import Any

from detcore import _abi


class Error(Exception):
    """A call failed. The text has what was tried, on what, why it failed, and what to do."""

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
        #: The code, one of the DET_E_* of the C API.
        self.code = code
        #: The errno of the system call that failed, or 0.
        self.os_errno = os_errno
        #: The HTTP status of the master's answer, or 0.
        self.http_status = http_status
        #: True if the same call may succeed a little later.
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
    """A trial raises it if its hyperparameters cannot be trained. The search continues without the
    trial."""

    def __init__(self, msg: str | None = None) -> None:
        if msg is not None and not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes text, not {type(msg).__name__}")
        super().__init__(msg if msg is not None else "the hyperparameters cannot be trained")


class InvalidArgumentError(Error, ValueError):
    """An argument has a wrong value."""


class MissingChiefError(InvalidArgumentError, AssertionError):
    """The job has several machines, and the address of its chief is missing."""


class NotFoundError(Error, LookupError, FileNotFoundError):
    """A checkpoint, trial, experiment, file or value does not exist."""


class MissingVariableError(NotFoundError, KeyError):
    """A variable of the environment is missing."""


class StorageError(Error, OSError):
    """Reading or writing a file failed. `os_errno` has the reason."""


class DetTimeoutError(Error, TimeoutError):
    """The time limit passed first."""


class StoppedByCallbackError(Error, RuntimeError):
    """A callback stopped the call."""


class UnsupportedError(Error, NotImplementedError):
    """This build or this release does not support the call."""


class StateError(Error, RuntimeError):
    """The call came in the wrong order or on the wrong rank, or the object is closed."""


class AccessError(Error, PermissionError):
    """Permission or credentials are missing."""


class CorruptError(Error, RuntimeError):
    """Stored data does not match its checksum or format."""


class FullError(Error, OSError):
    """The disk, a quota or the journal is full."""


class BusyError(Error, RuntimeError):
    """Another process holds the resource."""


class ConflictError(Error, RuntimeError):
    """Two ranks or two reports contradict each other."""


class UnavailableError(Error, ConnectionError):
    """The master does not answer."""


class HTTPError(Error, RuntimeError):
    """The master answered with an error. `http_status` has its status."""


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out."""


class InternalError(Error, RuntimeError):
    """The library has a defect. Please report it."""


class LibraryError(ImportError):
    """libdetcore cannot be loaded, or has the wrong version for this package."""


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


#: Names in messages of the library, and their names in this package.
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
    """Translates the names in a message of the library to those of this package."""
    import re  # only a failure has to wait for this import

    message = re.sub(r"\bdet_core_options\.(\w+)", r"\1 of core.init()", message)
    return re.sub(r"\bdet_[a-z_]+", lambda name: IN_PYTHON.get(name[0], name[0]), message)


def from_c(error: _abi.det_error) -> Error:
    """Makes the exception for the error that a function of the library filled in."""
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
