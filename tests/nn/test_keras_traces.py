"""Recorded runs of Keras, done again by det::keras: hooks in their order, with their numbers, and what workloads
are answered with.

usage: test_keras_traces.py PROGRAM MPIRUN RECORDED, where RECORDED is a directory. Says so in TAP."""

from recorded_runs import all_of, check_of_ranks
from trial_runs import mpirun, tell


def hooks_come_in_their_order():
    all_of("keras", "k-order-15x5", "k-order-midepoch-resume",
           "k-order-no-rpe-noepoch", "k-order-nothing", "k-order-restore-no-train", "k-order-rpe-nondivisible",
           "k-resume-val-then-train", "k-cb-write-ckpt")


def models_are_trained_to_the_same_numbers():
    all_of("keras", "k-num-onevar-40", "k-num-xor", "k-num-pix", "k-num-conv", "k-num-conv-bn", "k-nan")


def data_of_every_kind_are_the_same():
    all_of("keras", "k-data-dataset", "k-data-dataset-wrap-after-batch", "k-data-sequence", "k-data-shuffle-seed",
           "k-data-resume-sequence", "k-data-tuple3", "k-fit-class-weight", "k-val-seq-workers")


def callbacks_stop_and_lower_the_rate():
    all_of("keras", "k-cb-es-missing-monitor", "k-cb-es-p0", "k-cb-es-p1", "k-cb-es-restore-best", "k-cb-es-start-from",
           "k-cb-restore-rl", "k-cb-rl-f5-p1")


def checkpoints_keep_optimizers():
    all_of("keras", "k-ckpt-adam", "k-ckpt-sgd", "k-ckpt-sgd-mom", "k-ckpt-legacy-sgd-mom", "k-ckpt-lr-changed")


def stops_come_with_the_next_answer():
    all_of("keras", "k-stop-context", "k-stop-on-epoch-end-1", "k-stop-on-test-batch-end-1", "k-stop-on-test-end-1",
           "k-stop-on-train-workload-end-1", "k-invalidhp-on-test-end")


def ranks_are_the_same():
    check_of_ranks("mk-basic", "mk-agg4", "mk-odd-val")


checks = [hooks_come_in_their_order, models_are_trained_to_the_same_numbers, data_of_every_kind_are_the_same,
          callbacks_stop_and_lower_the_rate, checkpoints_keep_optimizers, stops_come_with_the_next_answer]
if mpirun:
    checks.append(ranks_are_the_same)
tell(checks)
