"""Checks that all ranks train the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detcore.trial import CheckFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detcore.core import DistributedContext


def check_same(distributed: DistributedContext, variables: Sequence[Any]) -> None:
    """Checks that all ranks have the same variables in the same order. All ranks call it in
    step."""
    own = [_described(variable) for variable in variables]
    chief, *others = distributed.allgather(own)
    for rank, theirs in enumerate(others, 1):
        for left, right in zip(chief, theirs):
            if left[1:] != right[1:]:
                raise _another_model(f"{_said(left)} on rank 0 is {_said(right)} on rank {rank}")
        if len(chief) != len(theirs):
            counts = f"{len(chief)} variables on rank 0 and {len(theirs)} on rank {rank}"
            more, at = (chief, 0) if len(chief) > len(theirs) else (theirs, rank)
            first = _said(more[min(len(chief), len(theirs))])
            raise _another_model(f"there are {counts}, such as {first} on rank {at} only")


def _described(variable: Any) -> tuple[str, list[int], str]:
    return variable.name, variable.shape.as_list(), variable.dtype.base_dtype.name


def _said(described: tuple[str, list[int], str]) -> str:
    name, shape, dtype = described
    return f"{name} ({dtype} {shape})"


def _another_model(why: str) -> CheckFailedError:
    return CheckFailedError(f"ranks train different models: {why}; build the same on all ranks")
