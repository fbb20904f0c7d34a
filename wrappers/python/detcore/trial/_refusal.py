"""InvalidHP, wherever it was raised while a batch is trained."""

from __future__ import annotations

from detcore import InvalidHP
from detcore.errors import ConflictError

# What a rank calls that raised it; whoever waits for that rank is told so.
_CALL = "det_trial_sequencer_respond_invalid_hparams"


def refusal_in(failure: BaseException) -> InvalidHP | None:
    """None: the failure is another one."""
    if isinstance(failure, InvalidHP):
        return failure
    if isinstance(failure, ConflictError) and _CALL in str(failure):
        return InvalidHP("another rank found the hyperparameters invalid while it trained a batch")
    return None
