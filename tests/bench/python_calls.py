"""The calls of a training loop in Python, beside calls of ctypes with as many arguments whose
arguments are prepared; a region beside a timer by contextlib. Prints a line for each: name, nanoseconds, nanoseconds of ctypes."""

import collections
import contextlib
import ctypes
import itertools
import statistics
import time

from detcore import _abi, core
from detcore._capi import library

ROUNDS, CALLS = 60, 500


def nanoseconds(call):
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - begin) / CALLS


def compare(name, ours, floor):
    """In turns, since a machine is not as fast at all times."""
    times = [(nanoseconds(ours), nanoseconds(floor)) for _ in range(ROUNDS)]
    print(name, *(statistics.median(column) for column in zip(*times)), flush=True)


with core.init() as context:
    metrics = {"loss": 0.6931, "accuracy": 0.5128, "learning_rate": 0.001, "gradient_norm": 2.0001}
    step = itertools.count().__next__
    report = context.train.report_training_metrics

    prepared = (_abi.det_metric * len(metrics))()
    for metric, (name, value) in zip(prepared, metrics.items()):
        metric.name, metric.value = name.encode(), value
    error = ctypes.byref(_abi.det_error(struct_size=ctypes.sizeof(_abi.det_error)))
    train = context._core.view("train")
    call = library.det_train_report_training_metrics
    compare("report_training_metrics", lambda: report(step(), metrics),
            lambda: call(train, step(), prepared, len(metrics), error))

    should_preempt = context.preempt.should_preempt
    preempt = context._core.view("preempt")
    look = library.det_preempt_should_preempt
    region = context.train.region("forward")
    sums = collections.Counter()

    @contextlib.contextmanager
    def timer(name):
        begin = time.perf_counter_ns()
        try:
            yield
        finally:
            sums[name] += time.perf_counter_ns() - begin

    def in_region():
        with region:
            pass

    def in_timer():
        with timer("forward"):
            pass

    compare("region", in_region, in_timer)

    compare("should_preempt", should_preempt, lambda: look(preempt, error))
