"""Recorded runs of estimators, done again by det::estimator: hooks in their order, with weights, and what workloads
are answered with.

usage: test_estimator_traces.py PROGRAM MPIRUN RECORDED, where RECORDED is a directory. Says so in TAP."""

from recorded_runs import all_of, check_of_ranks, without_means
from trial_runs import mpirun, tell


def hooks_come_in_their_order():
    all_of("estimator", "e-nothing", "e-eval-steps-none", "e-restore-validate-only", "e-ckpt-twice", "e-max-steps",
           "e-repeat", "e-rule-wrap-after-batch", "e-rule-eval-unwrapped")


def stops_come_with_the_next_answer():
    all_of("estimator", "e-act-after-run-request-stop", "e-act-before-run-request-stop", "e-act-eval-request-stop",
           "e-act-eval-invalid-hp")


def checkpoints_keep_optimizers():
    all_of("estimator", "e-ckpt-gd", "e-ckpt-adam")


def metrics_are_the_same():
    all_of("estimator", "e-metric-reducers", "e-metric-shared-instance", "e-summaries-loss", "e-summaries-none")


def ranks_are_the_same():
    # The means were those of the chief, and ours are of all.
    check_of_ranks("me-agg2", "me-basic", prepare=without_means)


checks = [hooks_come_in_their_order, stops_come_with_the_next_answer, checkpoints_keep_optimizers, metrics_are_the_same]
if mpirun:
    checks.append(ranks_are_the_same)
tell(checks)
