"""Where a trial does better than the original did: what of a recorded run stays, what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Done = dict[str, Any]


class Ours(NamedTuple):
    #: Why, in a word.
    why: str
    #: This many events from the beginning are as recorded.
    same: int
    check: Callable[[Done], None]


def responses(done: Done) -> list[Any]:
    return [event[2] for event in done["events"] if event[0] == "response"]


def goes_on(done: Done) -> None:
    """Every workload is done, to the end."""
    if "failure" in done:
        raise done["failure"]
    asked = [event for event in done["events"] if event[0] == "workload"]
    assert len(responses(done)) == len(asked) > 0
    assert done["events"][-2:] == [["workloads_end"], ["hook", "A", "on_trial_close"]]


def stops(done: Done) -> None:
    goes_on(done)
    assert [answer["stop_requested"] for answer in responses(done)] == [True, True]


def raises(kind: str, stage: str) -> Callable[[Done], None]:
    def check(done: Done) -> None:
        assert (done["error"]["type"], done["error"]["stage"]) == (kind, stage)

    return check


def refused_in_training(done: Done) -> None:
    assert done["events"][-2:] == [
        ["response", "T", {"marker": "InvalidHP"}],
        ["hook", "A", "on_trial_close"],
    ]
    raises("InvalidHP", "run")(done)


def one_export(done: Done) -> None:
    assert done["loaded"]["signatures"] == ["serving_default"]


_TENSORS = Ours("a metric is of tensors", 17, raises("TypeError", "run"))
_EXPORT = Ours("it is said that nothing is exported", 0, raises("FileNotFoundError", "load"))

#: By the name of the run and the number of its phase.
OURS: dict[tuple[str, int], Ours] = {
    ("e-act-after-run-invalid-hp", 0): Ours("it is reported", 16, refused_in_training),
    ("e-act-modelfn-request-stop", 0): Ours("a stop as everywhere", 22, stops),
    ("e-checkpoint-first", 0): Ours("a checkpoint of step 0", 10, goes_on),
    ("e-initial-validation", 0): Ours("a checkpoint of step 0", 26, goes_on),
    ("e-metric-bad-string", 0): _TENSORS,
    ("e-metric-const", 0): _TENSORS,
    ("e-metric-const-array", 0): _TENSORS,
    ("e-metric-dtypes", 0): _TENSORS,
    ("e-rule-bad-estimator", 0): Ours("refused at once", 2, raises("TypeError", "from_trial")),
    ("e-rule-bad-train", 0): Ours("refused at once", 3, raises("TypeError", "from_trial")),
    ("e-rule-train-distribute", 0): Ours(
        "it is said what to leave out", 5, raises("CheckFailedError", "from_trial")
    ),
    ("e-scan", 2): Ours("refused as any", 0, raises("CheckFailedError", "scan")),
    ("e-serving-none", 1): _EXPORT,
    ("e-serving-none", 2): _EXPORT,
    ("e-serving-resume-no-train", 2): Ours("no export of an older checkpoint", 0, one_export),
}
