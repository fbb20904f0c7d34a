"""One det_client: opened in this process, closed once, and never while a call is under way."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from detcore import _abi, _capi
from detcore._interruptible import interruptible
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
    options = _abi.det_client_options()
    _capi.library.det_client_options_init(ctypes.byref(options))
    options.master = _capi.encoded(master, "master")
    options.user = _capi.encoded(user, "user")
    options.password = _capi.encoded(password, "password")
    options.token = _capi.encoded(token, "token")
    options.cert_file = _capi.encoded(cert_file, "cert_file")
    if timeout is not None:
        if not timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        endless = timeout == float("inf")
        options.timeout_ms = _abi.DET_TIMEOUT_INFINITE if endless else max(1, int(timeout * 1000))
    return options


def _release(address: int, process: int) -> None:
    # The connections of a parent are not a forked child's to close.
    if os.getpid() == process:
        _capi.library.det_client_free(address)


class Connection:
    def __init__(self, options: _abi.det_client_options) -> None:
        self._process = os.getpid()
        self._closed = False
        self._calls = 0
        self._change = threading.Condition()
        self._address = _capi.handle("det_client_open", ctypes.byref(options))
        self._finalizer = weakref.finalize(self, _release, self._address, self._process)
        self._finalizer.atexit = False  # type: ignore[misc]  # threads may still be in calls then

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function that gives JSON text answers."""
        return self.use(
            function, lambda client: json.loads(_capi.text(function, client, *arguments))
        )

    def use(self, function: str, action: Callable[[int], Answer]) -> Answer:
        """What `action` makes of the address of the det_client. Ctrl-C ends the wait for it."""

        def work() -> Answer:
            with self._in_use(function):
                return action(self._address)

        return interruptible(work)

    def close(self) -> None:
        """Waits for the calls of other threads. Closing twice does nothing."""
        if os.getpid() != self._process:
            return
        with self._change:
            self._closed = True
            self._change.wait_for(lambda: self._calls == 0)
        self._finalizer()

    @contextlib.contextmanager
    def _in_use(self, function: str) -> Iterator[None]:
        # Before the lock, which another thread of the parent may have held.
        if os.getpid() != self._process:
            raise StateError(
                f"{function}: the client was opened before this process was forked: open one here",
                code=_abi.DET_E_STATE,
            )
        with self._change:
            if self._closed:
                raise StateError(
                    f"{function}: the client is closed: open another", code=_abi.DET_E_STATE
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
    """`archived`: None for all, those that are archived and those that are not."""
    page = _abi.det_client_page()
    _capi.library.det_client_page_init(ctypes.byref(page))
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
    """All entries of a list, read page after page as they are taken."""
    while True:
        answer = connection.ask(function, *arguments, ctypes.byref(page))
        following = answer.pop("next")
        (found,) = answer.values()
        yield from found
        if following is None:
            return
        page.after = following
