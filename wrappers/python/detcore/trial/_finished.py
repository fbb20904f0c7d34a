"""The ways out of a training that by itself never ends."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from detcore.errors import InvalidHP
from detcore.trial._refusal import refusal_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Finished(Exception):
    """There are no more workloads: the framework's loop is left by an exception."""


@contextlib.contextmanager
def until_finished(
    cause_of: Callable[[Exception], BaseException], answer: Callable[[InvalidHP], None]
) -> Iterator[None]:
    """The framework's loop. What it raises but Finished is raised as what `cause_of` finds behind
    it; InvalidHP, of this rank or of another, is given to `answer` before."""
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
