"""Leaves a training loop that never ends by itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from detcore.errors import InvalidHP
from detcore.trial._refusal import refusal_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Finished(Exception):
    """No workload is left: this exception leaves the framework's loop."""


@contextlib.contextmanager
def until_finished(
    cause_of: Callable[[Exception], BaseException], answer: Callable[[InvalidHP], None]
) -> Iterator[None]:
    """Runs the framework's loop until Finished.

    Any other exception is replaced by what `cause_of` finds behind it. InvalidHP, of this rank or
    another, first goes to `answer`.
    """
    try:
        yield
    except Finished:
        pass
    except Exception as failure:
        cause = cause_of(failure)
        cause = refusal_in(cause) or cause
        if isinstance(cause, InvalidHP):
            answer(cause)
        if cause is failure:
            raise
        raise cause from None
