"""A small binding in Python that uses only ctypes: the library, its structs, and calls that raise.

train.py imports it. It loads the library from DETCORE_LIBRARY, or from where the loader finds it.
"""

import ctypes
import os

library = ctypes.CDLL(os.environ.get("DETCORE_LIBRARY", "libdetcore.so.0"))


class Error(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("code", ctypes.c_int32),
        ("os_errno", ctypes.c_int32),
        ("http_status", ctypes.c_int32),
        ("retryable", ctypes.c_int32),
        ("message", ctypes.c_char * 504),
    ]


class Metric(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_double)]


class LogLine(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("message", ctypes.c_char_p),
        ("source", ctypes.c_char_p),
        ("time_us", ctypes.c_int64),
        ("level", ctypes.c_int32),
        ("rank", ctypes.c_int32),
    ]


LogCallback = ctypes.CFUNCTYPE(None, ctypes.POINTER(LogLine), ctypes.c_void_p)


class CoreOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("master", ctypes.c_char_p),
        ("trial_id", ctypes.c_int64),
        ("external_id", ctypes.c_char_p),
        ("external_experiment_id", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("config_json", ctypes.c_char_p),
        ("hparams_json", ctypes.c_char_p),
        ("checkpoint_storage", ctypes.c_char_p),
        ("distributed", ctypes.c_void_p),
        ("preempt_signals", ctypes.POINTER(ctypes.c_int32)),
        ("preempt_signal_count", ctypes.c_size_t),
        ("journal_limit", ctypes.c_int64),
        ("journal_wait_ms", ctypes.c_int64),
        ("close_wait_ms", ctypes.c_int64),
        ("log", LogCallback),
        ("log_user_data", ctypes.c_void_p),
        ("log_destroy", ctypes.c_void_p),
        ("log_queue", ctypes.c_void_p),
        ("preempt_mode", ctypes.c_int32),
        ("tensorboard_mode", ctypes.c_int32),
        ("stack_trace_signal", ctypes.c_int32),
        ("close_at_end", ctypes.c_int32),
        ("capture_output", ctypes.c_int32),
        ("durable_reports", ctypes.c_int32),
        ("log_level", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("run_wait_ms", ctypes.c_int64),
    ]


class Failure(Exception):
    def __init__(self, error):
        super().__init__(error.message.decode())
        self.error = error


def call(name, *arguments):
    """Calls a function that returns a status. Raises on a failure, else returns the status."""
    function = getattr(library, name)
    function.restype = ctypes.c_int32
    error = Error(struct_size=ctypes.sizeof(Error))
    status = function(*arguments, ctypes.byref(error))
    if status < 0:
        raise Failure(error)
    return status


def value(name, result, *arguments):
    """Calls a function that cannot fail. Pointers come as c_void_p, so you can pass them on."""
    function = getattr(library, name)
    function.restype = result
    answer = function(*arguments)
    return ctypes.c_void_p(answer) if result is ctypes.c_void_p else answer


def text(name, *arguments):
    """Calls a function that returns a `char **`, and copies the text."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    copy = ctypes.string_at(out).decode()
    library.det_free(out)
    return copy
