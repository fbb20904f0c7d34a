"""InvalidHP, wherever and on whatever rank it was raised."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from detcore.errors import IN_PYTHON, ConflictError, InvalidHP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detcore.trial._workloads import WorkloadSource

# What a rank calls that raised it; whoever waits for that rank is told so.
_CALL = IN_PYTHON["det_trial_sequencer_respond_invalid_hparams"]


def refusal_in(failure: BaseException) -> InvalidHP | None:
    """None: the failure is another one."""
    if isinstance(failure, InvalidHP):
        return failure
    if isinstance(failure, ConflictError) and _CALL in str(failure):
        return InvalidHP("another rank found the hyperparameters invalid")
    return None


@contextlib.contextmanager
def refused_by_all(workloads: WorkloadSource) -> Iterator[None]:
    """What another rank refused meanwhile is answered and raised here, too."""
    try:
        yield
    except ConflictError as failure:
        refusal = refusal_in(failure)
        if refusal is None:
            raise
        workloads.respond(refusal)
        raise refusal from None
