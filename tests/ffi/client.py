"""The client API through ctypes, with the binding that the examples use."""

import ctypes
import json
from ctypes import byref, c_double, c_int64, c_size_t, c_void_p

from detcore import call, library, text, value


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


class Client:
    """Reads the store in a directory."""

    def __init__(self, home):
        options = ClientOptions(struct_size=ctypes.sizeof(ClientOptions))
        options.master = home.encode()
        self.handle = c_void_p()
        call("det_client_open", byref(options), byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        library.det_client_free(self.handle)

    def ask(self, function, *arguments):
        return json.loads(text(f"det_client_{function}", self.handle, *arguments))

    def curve(self, trial_id, group, metric):
        """The steps and values of a metric, in the order they were reported."""
        series = c_void_p()
        call("det_client_get_metric_series", self.handle, c_int64(trial_id), group.encode(),
             metric.encode(), byref(series))
        count = value("det_metric_series_count", c_size_t, series)
        steps = value("det_metric_series_steps_completed", ctypes.POINTER(c_int64), series)
        values = value("det_metric_series_values", ctypes.POINTER(c_double), series)
        points = [(steps[i], values[i]) for i in range(count)]
        library.det_metric_series_free(series)
        return points
