"""Handles InvalidHP from any place and any rank."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from detcore.errors import IN_PYTHON, ConflictError, InvalidHP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detcore.trial._workloads import WorkloadSource

# The function that a rank calls after InvalidHP. The message names it on ranks that wait.
_CALL = IN_PYTHON["det_trial_sequencer_respond_invalid_hparams"]


def refusal_in(failure: BaseException) -> InvalidHP | None:
    """Returns the InvalidHP behind a failure. None for another failure."""
    if isinstance(failure, InvalidHP):
        return failure
    if isinstance(failure, ConflictError) and _CALL in str(failure):
        return InvalidHP("another rank found the hyperparameters invalid")
    return None


@contextlib.contextmanager
def refused_by_all(workloads: WorkloadSource) -> Iterator[None]:
    """Answers and raises here an InvalidHP of another rank."""
    try:
        yield
    except ConflictError as failure:
        refusal = refusal_in(failure)
        if refusal is None:
            raise
        workloads.respond(refusal)
        raise refusal from None
