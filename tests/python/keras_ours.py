"""Where a trial does better than the original did: what of a recorded run stays, what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Done = dict[str, Any]


class Ours(NamedTuple):
    #: Why, in a word.
    why: str
    #: From the beginning of a phase this many events are as recorded; other phases wholly.
    same: dict[int, int]
    #: Of each phase in `same`, with its number.
    check: Callable[[int, Done], None]


def responses(done: Done) -> list[Any]:
    return [event[2] for event in done["events"] if event[0] == "response"]


def states(done: Done) -> list[dict[str, Any]]:
    return [event[3] for event in done["events"] if event[0] == "state"]


def goes_on(_: int, done: Done) -> None:
    """Every workload is done, to the end."""
    assert "error" not in done, done["error"]
    asked = [event for event in done["events"] if event[0] == "workload"]
    assert len(responses(done)) == len(asked) > 0
    assert ["workloads_end"] in done["events"]


def stops(_: int, done: Done) -> None:
    """As goes_on(), and every answer from some on asks to stop."""
    goes_on(_, done)
    asked = [answer["stop_requested"] for answer in responses(done) if "uuid" not in answer]
    assert asked[-1] and asked == sorted(asked)
    assert done["stop_requested"]


def raises(kind: str, stage: str) -> Callable[[int, Done], None]:
    def check(_: int, done: Done) -> None:
        assert (done["error"]["type"], done["error"]["stage"]) == (kind, stage)

    return check


def refused_in_training(_: int, done: Done) -> None:
    assert responses(done) == [{"marker": "InvalidHP"}]
    raises("InvalidHP", "run")(_, done)


def stops_below_baseline(_: int, done: Done) -> None:
    assert [state["wait"] for state in states(done)] == [1, 2]
    assert [answer["stop_requested"] for answer in responses(done)][-2:] == [False, True]


def remembers_best(_: int, done: Done) -> None:
    loaded, *after = states(done)
    assert round(loaded["best"], 3) == 26.454
    assert [state["wait"] for state in after] == [2]
    assert responses(done)[-1]["stop_requested"]


def own_states(number: int, done: Done) -> None:
    loaded = [
        event
        for event in done["events"]
        if event[1:3] in (["A", "load_state"], ["B", "load_state"])
    ]
    if number == 1:
        assert [event[3]["tag"] for event in loaded] == ["A", "B"]
        goes_on(number, done)
    else:
        assert "Rec#2" in str(done["failure"]) and "keras_callbacks()" in str(done["failure"])


_drawn: list[Any] = []


def draws_repeat(number: int, done: Done) -> None:
    """Those behind a checkpoint also where it is restored: dropout, Python's and NumPy's."""
    drawn = [event for event in done["events"] if event[0] in ("rng", "weights")]
    if number == 0:
        _drawn[:] = drawn
    again = _drawn[3:] if number == 1 else _drawn
    assert len(drawn) == len(again)
    for ours, before in zip(drawn, again):
        assert ours[0] == before[0]
        for one, other in zip(ours[1], before[1]):
            assert (one == other).all() if ours[0] == "weights" else one == other


OURS = {
    "k-adapter-too": Ours("the options of a SequenceAdapter are used", {0: 10}, goes_on),
    "k-data-adapter": Ours("the options of a SequenceAdapter are used", {0: 10}, goes_on),
    "k-cb-es-no-rpe": Ours("it needs no epochs", {0: 10}, goes_on),
    "k-cb-es-p2-baseline": Ours(
        "improving too slowly is stopped, too", {0: 33}, stops_below_baseline
    ),
    "k-ckpt-rng": Ours("all draws repeat", {0: 5, 1: 5, 2: 5}, draws_repeat),
    "k-cb-restore-es": Ours("the best is kept", {1: 14}, remembers_best),
    "k-data-seq-raises": Ours("the user's own exception", {0: 30}, raises("ValueError", "run")),
    "k-fit-verbose-toggle-restore": Ours("states by class and occurrence", {1: 12}, goes_on),
    "k-invalidhp-on-train-batch-end": Ours("it is reported", {0: 20}, refused_in_training),
    "k-metrics-avg-absent": Ours("the default is true", {0: 20}, goes_on),
    "k-order-rpe0": Ours(
        "0 is what a master says for unknown", {0: 10}, raises("AssertionError", "from_trial")
    ),
    "k-state-order": Ours("states by class and occurrence", {1: 15, 2: 13}, own_states),
    "k-stop-on-checkpoint-end-1": Ours("a stop as everywhere", {0: 40}, stops),
    "k-stop-on-train-batch-end-2": Ours("a stop as everywhere", {0: 20}, stops),
    "k-stop-on-train-begin-1": Ours("a stop as everywhere", {0: 16}, stops),
    "k-wrap-string-optimizer": Ours("the optimizer that Keras makes of it", {0: 35}, goes_on),
}
