"""A training program in Python on ctypes alone, with metrics, checkpoints and preemption.

If you kill or pause it (`det pause`), the next start resumes from its latest checkpoint. The result
is the same as without the interruption.

    python3 train.py
"""

import ctypes
import sys
import time
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

from detcore import CoreOptions, LogCallback, Metric, call, library, value

DET_OK, DET_PREEMPTED, DET_OUTCOME_OK, DET_LOG_LEVEL_INFO = 0, 2, 0, 2
STEPS_BETWEEN_CHECKPOINTS = 20

CONFIG = b"""{
    "name": "languages",
    "hyperparameters": {"rate": 0.0078125},
    "searcher": {"name": "single", "metric": "loss", "max_length": 2000}
}"""


@LogCallback
def log(line, _):
    """Receives log lines of the library, on a separate thread. ctypes makes this safe."""
    print("detcore:", line.contents.message.decode(), file=sys.stderr)


def save(checkpoint, step, weight):
    store = c_void_p()
    metadata = b'{"steps_completed": %d}' % step
    call("det_checkpoint_writer_begin", checkpoint, metadata, None, byref(store))
    path = value("det_checkpoint_writer_path", c_char_p, store).decode()
    Path(path, "state").write_text(f"{step} {weight!r}\n")
    call("det_checkpoint_writer_commit", store)  # now it is complete and visible
    library.det_checkpoint_writer_free(store)


def restore(checkpoint, storage_id):
    stored = c_void_p()
    call("det_checkpoint_reader_open", checkpoint, storage_id, None, byref(stored))
    path = value("det_checkpoint_reader_path", c_char_p, stored).decode()
    step, weight = Path(path, "state").read_text().split()
    library.det_checkpoint_reader_free(stored)
    return int(step), float(weight)


def main():
    options = CoreOptions(struct_size=ctypes.sizeof(CoreOptions))
    options.external_id = b"train-python"  # every start with this name continues the same trial
    options.config_json = CONFIG
    options.log = log
    options.log_level = DET_LOG_LEVEL_INFO
    core = c_void_p()
    call("det_core_init", byref(options), byref(core))
    info, searcher, train, preempt, checkpoint = (
        value(f"det_core_{view}", c_void_p, core)
        for view in ("info", "searcher", "train", "preempt", "checkpoint"))

    rate = c_double()
    call("det_info_get_hparam_double", info, b"rate", byref(rate))
    latest = value("det_info_latest_checkpoint", c_char_p, info)
    step, weight = restore(checkpoint, latest) if latest else (0, 0.0)
    print("from", step, flush=True)

    preempted = False
    op = c_void_p()
    while call("det_searcher_next", searcher, byref(op)) == DET_OK:
        length = value("det_searcher_op_length", c_int64, op)
        while step < length and not preempted:
            time.sleep(0.001)  # your training goes here
            weight += rate.value * (1 - weight)
            step += 1
            metric = Metric(b"loss", 1 - weight)
            call("det_train_report_training_metrics", train, c_int64(step), byref(metric), c_size_t(1))
            preempted = call("det_preempt_should_preempt", preempt) == DET_PREEMPTED
            if preempted or step == length or step % STEPS_BETWEEN_CHECKPOINTS == 0:
                save(checkpoint, step, weight)
        if preempted:
            break
        metric = Metric(b"loss", 1 - weight)  # your validation
        call("det_train_report_validation_metrics", train, c_int64(step), byref(metric), c_size_t(1))
        call("det_searcher_op_report_completed", op, c_double(metric.value))

    call("det_core_close", core, c_int32(DET_OUTCOME_OK))
    status = library.det_core_exit_status(core)  # not 0 if more work remains
    library.det_core_free(core)
    print("to", step)
    return status


sys.exit(main())
