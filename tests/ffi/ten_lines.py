"""Trains a number through ctypes: usage ten_lines.py STOP_AT, the step to be preempted at, or 0."""

import sys
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p

from detcore import Metric, call, library, value

DET_OK, DET_PREEMPTED, DET_OUTCOME_OK = 0, 2, 0

stop_at = int(sys.argv[1])
core = c_void_p()
call("det_core_init", None, byref(core))
info, searcher, train, preempt, checkpoint = (
    value(f"det_core_{view}", c_void_p, core)
    for view in ("info", "searcher", "train", "preempt", "checkpoint"))

rate = value("det_info_hparam_double", c_double, info, b"optimizer.rate", c_double(0))
step, weight = 0, 0.0
latest = value("det_info_latest_checkpoint", c_char_p, info)
if latest:
    restore = c_void_p()
    call("det_checkpoint_restore_begin", checkpoint, latest, None, byref(restore))
    path = value("det_checkpoint_restore_path", c_char_p, restore).decode()
    with open(f"{path}/state") as file:
        step, weight = (kind(word) for kind, word in zip((int, float), file.read().split()))
    library.det_checkpoint_restore_free(restore)
    print("resumed at", step)


def save():
    store = c_void_p()
    metadata = b'{"steps_completed": %d}' % step
    call("det_checkpoint_store_begin", checkpoint, metadata, None, byref(store))
    path = value("det_checkpoint_store_path", c_char_p, store).decode()
    with open(f"{path}/state", "w") as file:
        file.write(f"{step} {weight!r}")
    call("det_checkpoint_store_commit", store)
    library.det_checkpoint_store_free(store)


preempted = False
op = c_void_p()
while not preempted and call("det_searcher_next", searcher, byref(op)) == DET_OK:
    while step < value("det_searcher_op_length", c_int64, op) and not preempted:
        weight += rate * (1 - weight)
        step += 1
        metric = Metric(b"loss", 1 - weight)
        call("det_train_report_training_metrics", train, c_int64(step), byref(metric), c_size_t(1))
        if step == stop_at:
            value("det_preempt_request", c_int32, preempt)
        preempted = call("det_preempt_should_preempt", preempt) == DET_PREEMPTED
    save()
    if not preempted:
        call("det_searcher_op_report_completed", op, c_double(1 - weight))

call("det_core_close", core, c_int32(DET_OUTCOME_OK))
library.det_core_free(core)
print("preempted at" if preempted else "completed at", step)
