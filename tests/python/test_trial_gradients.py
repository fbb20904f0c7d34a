"""Gradients added up by detcore: NumPy arrays, where they stand."""

import os
from typing import Any

import numpy
import pytest
from detcore._trial_gradients import GradientAggregator, average_metrics, broadcast_arrays
from detcore.core import DistributedContext
from ranks import in_processes, in_threads


def test_ranks_get_the_mean_in_place() -> None:
    def work(context: DistributedContext) -> None:
        shapes = [(3, 4), (5,)]
        gradients = GradientAggregator(context, [(12, "float32"), (5, "float64")])
        first = numpy.full(shapes[0], context.rank + 1, dtype=numpy.float32)
        second = numpy.full(shapes[1], 10.0 * context.rank)
        second.flags.writeable = False
        result = numpy.zeros(5)
        gradients.add(1, second, result)
        gradients.add(0, first)
        assert gradients.step()
        assert (first == 1.5).all() and (result == 5).all() and (second == 10 * context.rank).all()
        gradients.close()

    assert in_threads(work, 1, 2) == [None, None]


def test_batches_are_added_up_before_they_are_applied() -> None:
    gradients = GradientAggregator(None, [(2, "float32")], aggregation_frequency=4)
    applied = []
    for batch in range(8):
        gradient = numpy.array([batch, 1], dtype=numpy.float32)
        gradients.add(0, gradient)
        applied.append(gradients.step())
    assert applied == [False, False, False, True] * 2
    assert gradient.tolist() == [5.5, 1]


def test_what_does_not_fit_is_refused() -> None:
    gradients = GradientAggregator(None, [(2, "float32")])
    with pytest.raises(ValueError, match="3 elements of F32 came, and 2 elements of F32"):
        gradients.add(0, numpy.zeros(3, numpy.float32))
    with pytest.raises(ValueError, match="2 elements of F64 came"):
        gradients.add(0, numpy.zeros(2))
    with pytest.raises(IndexError):
        gradients.add(1, numpy.zeros(2, numpy.float32))
    frozen = numpy.zeros(2, numpy.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gradients.add(0, frozen)
    with pytest.raises(Exception, match="sparse gradients"):
        GradientAggregator(None, [(2, "float32")], aggregation_frequency=2, sparse=[0])


def test_metrics_of_ranks_are_averaged() -> None:
    def work(context: DistributedContext) -> tuple[dict[str, object], dict[str, object]]:
        own = {"loss": numpy.float32(context.rank), "steps": 4, "name": f"rank {context.rank}"}
        return average_metrics(context, own), average_metrics(context, own, [30, 10][context.rank])

    expected = [{"loss": loss, "name": "rank 0", "steps": 4} for loss in (0.5, 0.25)]
    assert in_threads(work, 1, 2) == [tuple(expected)] * 2
    with pytest.raises(ValueError, match="weights of all ranks are 0"):
        average_metrics(None, {"loss": 1}, 0)


def test_ranks_that_report_different_metrics_hear_of_it() -> None:
    def work(context: DistributedContext) -> str:
        with pytest.raises(Exception, match="rank 0 reports 'a' and rank 1 does not") as failure:
            average_metrics(context, {"ab"[context.rank]: 1})
        return type(failure.value).__name__

    assert in_threads(work, 1, 2) == ["ConflictError"] * 2


def test_arrays_of_rank_0_are_broadcast_in_place() -> None:
    def work(context: DistributedContext) -> list[object]:
        weights = numpy.full((3, 4), context.rank + 1, dtype=numpy.float32)
        steps = numpy.array(7 - context.rank)
        if context.rank == 0:
            weights.flags.writeable = False
        broadcast_arrays(context, {"dense/kernel": weights, "iterations": steps})
        return [weights.sum(), int(steps)]

    assert in_threads(work, 1, 2) == [[12, 7]] * 2
    alone = numpy.ones(2)
    broadcast_arrays(None, {"alone": alone})
    assert alone.tolist() == [1, 1]


def test_arrays_that_cannot_be_broadcast_are_refused_on_all_ranks() -> None:
    def differing(context: DistributedContext) -> str:
        with pytest.raises(Exception, match=r"'w' is F64 \[2\] on rank 0 and F64 \[3\] on rank 1"):
            broadcast_arrays(context, {"w": numpy.zeros(2 + context.rank)})
        return "heard"

    def failing(context: DistributedContext) -> str:
        given = numpy.zeros(4)
        broadcast = given if context.rank == 0 else given[::2]
        with pytest.raises(ValueError) as failure:
            broadcast_arrays(context, {"w": broadcast})
        return str(failure.value)

    assert in_threads(differing, 1, 2) == ["heard"] * 2
    first, second = in_threads(failing, 1, 2)
    assert "rank 1" in first and "not row-major" in second


def test_what_one_rank_gives_wrongly_no_other_waits_for() -> None:
    def work(context: DistributedContext) -> list[str]:
        is_wrong = context.rank == 1
        with pytest.raises((TypeError, ValueError)) as registered:
            GradientAggregator(context, [("few" if is_wrong else 2, "float32")])  # type: ignore[list-item]
        with pytest.raises((TypeError, ValueError)) as averaged:
            average_metrics(context, {"loss": object() if is_wrong else 1})
        return [str(registered.value), str(averaged.value), str(context.allgather(0))]

    first, second = in_threads(work, 1, 2)
    assert "rank 1" in first[0] and "rank 1" in first[1] and first[2] == second[2] == "[0, 0]"
    assert "rank 1" not in second[0] + second[1]


def until_a_rank_dies(context: DistributedContext) -> Any:
    gradients = GradientAggregator(context, [(2, "float32")])
    for batch in range(2):
        gradients.add(0, numpy.ones(2, numpy.float32))
        if batch == 1 and context.rank == 1:
            os._exit(1)
        gradients.step()


def test_a_rank_that_dies_ends_the_step_of_the_others() -> None:
    first, dead, last = in_processes(until_a_rank_dies, 3)
    assert dead is None
    for failure in first, last:
        assert isinstance(failure, ConnectionError) and "rank 1" in str(failure)
