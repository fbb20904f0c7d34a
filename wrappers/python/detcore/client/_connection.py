"""Holds one det_client: opened in this process, closed once, and never closed during a call."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, TypeVar

from detcore import _abi, _capi
from detcore._arguments import real
from detcore._interruptible import interruptible
from detcore._owned import Owned
from detcore.errors import StateError

Answer = TypeVar("Answer")


def options_of(
    master: str | os.PathLike[str] | None,
    user: str | None,
    password: str | None,
    token: str | None,
    cert_file: str | os.PathLike[str] | None,
    timeout: float | None,
) -> _abi.det_client_options:
    options = _capi.new_struct(_abi.det_client_options)
    options.master = _capi.encoded(master, "master")
    options.user = _capi.encoded(user, "user")
    options.password = _capi.encoded(password, "password")
    options.token = _capi.encoded(token, "token")
    options.cert_file = _capi.encoded(cert_file, "cert_file")
    if timeout is not None:
        seconds = real(timeout, "timeout")
        if not seconds > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        options.timeout_ms = _capi.milliseconds(None if seconds == inf else seconds, "timeout")
    return options


class Connection:
    def __init__(self, options: _abi.det_client_options) -> None:
        self._process = os.getpid()
        self._closed = False
        self._calls = 0
        self._change = threading.Condition()
        self._client = interruptible(
            lambda: Owned(_capi.handle("det_client_open", ctypes.byref(options)), "det_client_free")
        )

    def ask(self, function: str, *arguments: Any) -> Any:
        """Calls a function that gives JSON text, and returns its answer."""
        return self.use(lambda client: json.loads(_capi.text(function, client, *arguments)))

    def use(self, action: Callable[[int], Answer]) -> Answer:
        """Calls `action` with the address of the det_client. Ctrl-C ends the wait for it."""

        def work() -> Answer:
            with self._in_use():
                return action(self._client.address)

        return interruptible(work)

    def close(self) -> None:
        """Closes the det_client after the calls of other threads. A second call does nothing."""
        if os.getpid() != self._process:
            return
        with self._change:
            self._closed = True
            self._change.wait_for(lambda: self._calls == 0)
        self._client.release()

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        # This comes before the lock, which another thread of the parent may have held.
        if os.getpid() != self._process:
            raise StateError(
                "using a client: it was opened before this process was forked: open one here",
                code=_abi.DET_E_STATE,
            )
        with self._change:
            if self._closed:
                raise StateError(
                    "using a client: it is closed: open another", code=_abi.DET_E_STATE
                )
            self._calls += 1
        try:
            yield
        finally:
            with self._change:
                self._calls -= 1
                self._change.notify_all()


def page_of(
    *,
    limit: int = 0,
    descending: bool = False,
    by_metric: bool = False,
    state: str | None = None,
    name: str | None = None,
    tag: str | None = None,
    archived: bool | None = False,
    running: bool = False,
) -> _abi.det_client_page:
    """Makes the filters of a list. `archived` None lists those that are archived and those that are
    not."""
    page = _capi.new_struct(_abi.det_client_page)
    page.limit = limit
    page.descending = descending
    page.by_metric = by_metric
    page.state = _capi.encoded(state, "state")
    page.name = _capi.encoded(name, "name")
    page.tag = _capi.encoded(tag, "tag")
    page.archived = 2 if archived is None else int(archived)
    page.running = running
    return page


def entries(
    connection: Connection, function: str, *arguments: Any, page: _abi.det_client_page
) -> Iterator[dict[str, Any]]:
    """Yields all entries of a list. It reads page after page, as they are taken."""
    while True:
        answer = connection.ask(function, *arguments, ctypes.byref(page))
        following = answer.pop("next")
        (found,) = answer.values()
        yield from found
        if following is None:
            return
        page.after = following
