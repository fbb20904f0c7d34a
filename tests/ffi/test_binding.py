#!/usr/bin/env python3
"""What a binding has to get right besides the calls of a training: structs that are laid out by hand,
callbacks in the language, and errors. Speaks TAP."""

import ctypes
import os
import tempfile
from ctypes import byref, c_char_p, c_int32, c_int64, c_void_p

import tap
from client import Client
from detcore import CoreOptions, Failure, LogCallback, call, library, text, value

DET_LOG_LEVEL_INFO = 2


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


def sized(struct):
    return struct(struct_size=ctypes.sizeof(struct))


def callbacks_written_in_the_language_are_called(home):
    offered, lines = [], []

    def select(path, _):
        offered.append(path)
        return 1 if path != b"left" else 0

    @LogCallback
    def log(line, _):
        lines.append((line.contents.source, line.contents.level, line.contents.message))

    selection = sized(CheckpointOptions)
    selection.selector = CheckpointOptions.SELECTOR(select)
    options = sized(CoreOptions)
    options.master = home.encode()
    options.log, options.log_level = log, DET_LOG_LEVEL_INFO
    core = c_void_p()
    with tempfile.TemporaryDirectory() as files:
        for name in ("kept", "left"):
            open(f"{files}/{name}", "w").close()
        call("det_core_init", byref(options), byref(core))
        checkpoint = value("det_core_checkpoint", c_void_p, core)
        storage_id = text("det_checkpoint_upload", checkpoint, files.encode(),
                          b'{"steps_completed": 1}', byref(selection))
        call("det_core_close", core, c_int32(0))
        library.det_core_free(core)
    assert {b"kept", b"left"} <= set(offered), offered
    with Client(home) as client:
        resources = client.ask("get_checkpoint", storage_id.encode())["resources"]
    assert "kept" in resources and "left" not in resources, resources
    said = [line for line in lines if storage_id.encode() in line[2]]
    assert said and said[0][1] == DET_LOG_LEVEL_INFO, lines


def failures_say_what_to_do(home):
    with Client(home) as client:
        try:
            client.ask("get_trial", c_int64(99))
            raise AssertionError("trial 99 was found")
        except Failure as failure:
            name = value("det_status_name", c_char_p, c_int32(failure.error.code))
            assert name == b"DET_E_NOT_FOUND" and "99" in str(failure), failure


def main():
    for name in [name for name in os.environ if name.startswith("DET_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as home:
        tap.run([callbacks_written_in_the_language_are_called, failures_say_what_to_do], home)


main()
