"""A binding of a few lines: the library, its structs, and calls that raise what went wrong."""

import ctypes
import os

library = ctypes.CDLL(os.environ["DETCORE_LIBRARY"])


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


class ClientPage(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("after", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("descending", ctypes.c_int32),
        ("by_metric", ctypes.c_int32),
        ("state", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("tag", ctypes.c_char_p),
        ("archived", ctypes.c_int32),
        ("running", ctypes.c_int32),
    ]


class ClientOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("master", ctypes.c_char_p),
        ("user", ctypes.c_char_p),
        ("password", ctypes.c_char_p),
        ("token", ctypes.c_char_p),
        ("cert_file", ctypes.c_char_p),
        ("timeout_ms", ctypes.c_int64),
        ("log", ctypes.c_void_p),
        ("log_user_data", ctypes.c_void_p),
        ("log_destroy", ctypes.c_void_p),
        ("log_queue", ctypes.c_void_p),
        ("log_level", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class CheckpointOptions(ctypes.Structure):
    SELECTOR = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("selector", SELECTOR),
        ("progress", ctypes.c_void_p),
        ("user_data", ctypes.c_void_p),
        ("shard", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class Failure(Exception):
    def __init__(self, error):
        super().__init__(error.message.decode())
        self.error = error


def call(name, *arguments):
    """Calls a function that returns a status; raises on a failure, returns other answers."""
    function = getattr(library, name)
    function.restype = ctypes.c_int32
    error = Error()
    library.det_error_init(ctypes.byref(error))
    status = function(*arguments, ctypes.byref(error))
    if status < 0:
        raise Failure(error)
    return status


def value(name, result, *arguments):
    """Calls a function that cannot fail. Pointers come as c_void_p, ready to be handed on."""
    function = getattr(library, name)
    function.restype = result
    answer = function(*arguments)
    return ctypes.c_void_p(answer) if result is ctypes.c_void_p else answer


def text(name, *arguments):
    """Calls a function that gives a `char **`, and takes a copy of what it gave."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    copy = ctypes.string_at(out).decode()
    library.det_free(out)
    return copy
