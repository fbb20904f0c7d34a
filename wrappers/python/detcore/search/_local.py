"""Starts and drives a search on this machine."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pathlib
import time
import uuid
from collections.abc import Sequence
from typing import Any

from detcore import _abi
from detcore._arguments import only_defaults
from detcore._det_run import BUSY, DetRun, read_config, with_label
from detcore.client import Client
from detcore.errors import InvalidArgumentError
from detcore.search._method import SearchMethod
from detcore.search._runner import SearchRunner

_log = logging.getLogger("detcore.search")
_LABEL = "label.json"
_BETWEEN_TRIES = 5.0  # seconds


class LocalSearchRunner(SearchRunner):
    """Starts `det run` for a configuration with `searcher: {name: custom}`, and drives its search.

    After a crash of anything, or after a pause, make a new runner with the same directory. Its
    run() resumes the search.

    Args:
        search_method: Decides the search.
        searcher_dir: The directory of this search alone.
        client: The client to use. None: a new one.
        session: Another name of `client`.
        slots: The number of slots that trials may use at a time.
        quiet: True: `det run` prints nothing.
    """

    def __init__(
        self,
        search_method: SearchMethod,
        searcher_dir: str | os.PathLike[str] | None = None,
        client: Client | None = None,
        *,
        session: Client | None = None,
        slots: int | None = None,
        quiet: bool = False,
    ) -> None:
        super().__init__(search_method, searcher_dir or "search", client or session)
        self._slots = slots
        self._quiet = quiet
        self._det_run: DetRun | None = None
        self._master: str | None = None
        self._last_try = 0.0
        self._saw_it_leave = False

    def run(
        self,
        exp_config: dict[str, Any] | str | os.PathLike[str],
        model_dir: str | os.PathLike[str] | None = None,
        command: Sequence[str] = (),
        *,
        includes: Sequence[str | os.PathLike[str]] | None = None,
    ) -> int:
        """Runs the search until the experiment is over or paused, and returns its id.

        A Ctrl-C, or a failure of the method, pauses the experiment.

        Args:
            exp_config: The configuration, or the name of a YAML file with it.
            model_dir: The directory in which trials start.
            command: The program of the trials, in place of `entrypoint`.
            includes: Must be empty. Trials run in `model_dir` itself, and nothing can be added to
                it.
        """
        only_defaults("LocalSearchRunner.run()", includes=includes)
        with self._directory.locked(), contextlib.ExitStack() as scope:
            self._restore()
            if self._given_client is not None:
                self._master = self._given_client.master
            try:
                client, experiment_id = self._begin(scope, exp_config, model_dir, command)
                self._drive(client, experiment_id)
            except BaseException:
                if self._det_run is not None:
                    self._det_run.pause()
                raise
            finally:
                if self._det_run is not None:
                    self._det_run.close()
                self._det_run = None
            return experiment_id

    def _begin(
        self,
        scope: contextlib.ExitStack,
        exp_config: dict[str, Any] | str | os.PathLike[str],
        model_dir: str | os.PathLike[str] | None,
        command: Sequence[str],
    ) -> tuple[Client, int]:
        """Returns the experiment of this search. A killed program may have made it, or it is
        new."""
        label = self._label()
        client: Client | None = None
        with open(self.searcher_dir / "det-run.lock", "a", encoding="utf-8") as alive:
            while True:
                # This is asked first, so that an experiment that it made is found below.
                is_alive = not _lock(alive.fileno())
                client = client or self._open(scope)
                found = None if client is None else _find(client, label)
                if client is not None and found is not None:
                    self._experiment_id = found
                    if self._det_run is None and not client.get_experiment(found).state.is_terminal:
                        self._resume()
                    return client, found
                if self._det_run is None and not is_alive:
                    config = self._config(exp_config, label)
                    arguments = [
                        str(config),
                        *self._options(),
                        *(["--", *command] if command else []),
                    ]
                    self._det_run = DetRun(
                        arguments,
                        master=self._master,
                        directory=model_dir,
                        quiet=self._quiet,
                        keep_open=[alive.fileno()],
                    )
                elif self._det_run is not None and self._det_run.exit_code is not None:
                    raise self._det_run.failure("starting the experiment of a search")
                time.sleep(0.02)

    def _open(self, scope: contextlib.ExitStack) -> Client | None:
        """Opens a client. None while the store is missing: `det run` makes it."""
        if self._given_client is not None:
            return self._given_client
        try:
            return scope.enter_context(Client())
        except LookupError:
            return None

    def _label(self) -> str:
        """Returns the label that marks the experiment of this search."""
        path = self.searcher_dir / _LABEL
        if not path.exists():
            self._directory.write(_LABEL, f"search-{uuid.uuid4().hex[:12]}")
        return str(self._directory.read_json(_LABEL))

    def _config(self, given: dict[str, Any] | str | os.PathLike[str], label: str) -> pathlib.Path:
        config = read_config(given)
        searcher = config.get("searcher")
        name = searcher.get("name") if isinstance(searcher, dict) else None
        if name != "custom":
            raise InvalidArgumentError(
                f"starting a search: searcher.name of the configuration is {name!r}; it must be "
                "'custom', for then the method decides",
                code=_abi.DET_E_INVALID,
            )
        return self._directory.write("experiment.json", with_label(config, label)).absolute()

    def _options(self) -> list[str]:
        return [] if self._slots is None else ["--slots", str(self._slots)]

    def _resume(self) -> None:
        # It is refused if another `det run` has the experiment.
        self._last_try = time.monotonic()
        if self._det_run is not None:
            self._det_run.close()
        self._det_run = DetRun(
            ["--resume", str(self._experiment_id), *self._options()],
            master=self._master,
            quiet=True,
        )

    def _is_over(self, state: str) -> bool:
        has_left = self._det_run is not None and self._det_run.exit_code is not None
        if state in ("COMPLETED", "CANCELED", "ERROR"):
            if self._det_run is not None and not has_left:
                self._det_run.wait()  # its output has the result
            return super()._is_over(state)
        if state == "PAUSED" and has_left:
            _log.warning(
                "experiment %d is paused: run the same again to resume it", self._experiment_id
            )
            return True
        time.sleep(0.05)  # it resumes what was paused, or ends what is ending
        self._look_after(True)
        return False

    def _look_after(self, is_heard: bool) -> None:
        left_with = None if self._det_run is None else self._det_run.exit_code
        if left_with == BUSY:
            if not is_heard or time.monotonic() - self._last_try > _BETWEEN_TRIES:
                self._resume()
        elif left_with is not None and self._det_run is not None:
            # Its last events may not have been read yet.
            if self._saw_it_leave:
                raise self._det_run.failure(f"running experiment {self._experiment_id}")
            self._saw_it_leave = True
        if not is_heard:
            time.sleep(0.05)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _find(client: Client, label: str) -> int | None:
    for experiment in client.list_experiments(labels=[label], archived=None):
        return experiment.id
    return None
