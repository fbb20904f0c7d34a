"""Opens a store or a master, to read and steer it."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from detcore import _abi, _capi
from detcore._arguments import integer
from detcore._interruptible import interruptible
from detcore._json import encode
from detcore._owned import Owned
from detcore.client import _metrics
from detcore.client._connection import Connection, entries, options_of, page_of
from detcore.client._create import create_experiment
from detcore.client._experiments import Checkpoint, Experiment, Trial
from detcore.client._record import Listing, ordered
from detcore.client._states import ExperimentSortBy, OrderBy


class Client:
    """A store or a master, opened for reading and steering.

    Objects that a client returns are valid until close(). Several threads may share one client.

    Args:
        master: The URL of a master, or the directory of a store. None: the one that `det` uses.
        user: The user for a master over HTTP.
        password: The password of that user. It is not kept.
        token: A token for a master over HTTP, in place of a login.
        cert_file: A PEM file with the certificate of the master or of its authority.
        timeout: The most seconds to wait for an answer.
    """

    def __init__(
        self,
        master: str | os.PathLike[str] | None = None,
        user: str | None = None,
        password: str | None = None,
        *,
        token: str | None = None,
        cert_file: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> None:
        self.master: str | None = None if master is None else os.fspath(master)
        self._options = options_of(master, user, password, token, cert_file, timeout)
        self._connection = Connection(self._options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the client. It waits for the calls of other threads. Later calls raise
        StateError."""
        self._connection.close()

    def whoami(self) -> dict[str, Any]:
        """Returns the user as whom this program works with a master over HTTP."""
        return _account("det_client_whoami", self._options)

    def checkpoint_usage(self) -> list[dict[str, Any]]:
        """Returns the size of the checkpoints of each experiment.

        Each entry has experiment_id, name, checkpoints (their number) and size (bytes).
        """
        answer = self._connection.ask("det_client_checkpoint_usage")
        return answer["experiments"]  # type: ignore[no-any-return]

    def get_experiment(self, experiment_id: int) -> Experiment:
        """Returns an experiment by its id."""
        experiment = Experiment(self, {"id": _identity(experiment_id, "experiment_id")})
        experiment.reload()
        return experiment

    def list_experiments(
        self,
        sort_by: str | None = None,
        order_by: str = OrderBy.ASC,
        *,
        experiment_ids: Iterable[int] | None = None,
        states: Iterable[str] = (),
        name: str | None = None,
        labels: Iterable[str] = (),
        archived: bool | None = False,
        running: bool = False,
    ) -> Iterator[Experiment]:
        """Lists experiments, page by page.

        Args:
            sort_by: An ExperimentSortBy. It reads all experiments before it yields the first.
            order_by: Ascending or descending.
            experiment_ids: Only experiments with these ids.
            states: Only experiments in these states.
            name: Only experiments whose name matches this glob, such as "digits*".
            labels: Only experiments with all of these labels.
            archived: True or False: only those that are archived or not. None: all.
            running: True: only those with a live process.
        """
        wanted = _texts(labels, "labels")
        identities = None if experiment_ids is None else set(experiment_ids)
        sort_by = None if sort_by is None else ExperimentSortBy(sort_by)
        page = page_of(
            descending=OrderBy(order_by) is OrderBy.DESC and sort_by is None,
            state=",".join(_texts(states, "states")) or None,
            name=name,
            tag=wanted[0] if wanted else None,
            archived=archived,
            running=running,
        )
        found = (
            Experiment(self, entry)
            for entry in entries(self._connection, "det_client_list_experiments", page=page)
            if set(wanted) <= set(entry["tags"] or [])
            and (identities is None or entry["id"] in identities)
        )
        return Listing(found if sort_by is None else ordered(found, sort_by, order_by, None))

    def create_experiment(
        self,
        config: dict[str, Any] | str | os.PathLike[str],
        model_dir: str | os.PathLike[str] | None = None,
        *,
        command: Sequence[str] = (),
        slots: int | None = None,
    ) -> Experiment:
        """Starts `det run` on this machine, in the background.

        Args:
            config: The configuration, or the name of a YAML file with it.
            model_dir: The directory in which trials start.
            command: The program of the trials, in place of `entrypoint`.
            slots: The number of slots that trials may use at a time.
        """
        return create_experiment(lambda: self, self.master, config, model_dir, command, slots)

    def update_experiment(self, experiment_id: int, **changes: Any) -> dict[str, Any]:
        """Changes `name`, `notes`, `tags` or `archived` of an experiment, and returns its new
        entry."""
        text = encode(changes, "a change of an experiment")
        return self._ask_about("det_client_update_experiment", experiment_id, text)

    def get_trial(self, trial_id: int | str) -> Trial:
        """Returns a trial by its id. A text may be its id or its external id."""
        if isinstance(trial_id, str):
            return Trial(self, self._ask_about("det_client_find_trial", trial_id))
        trial = Trial(self, {"id": _identity(trial_id, "trial_id")})
        trial.reload()
        return trial

    def list_trials(
        self,
        experiment_id: int | None = None,
        *,
        best_first: bool = False,
        descending: bool = False,
        states: Iterable[str] = (),
        name: str | None = None,
        label: str | None = None,
        archived: bool | None = False,
        running: bool = False,
    ) -> Iterator[Trial]:
        """Lists the trials of one experiment, or of all.

        Args:
            experiment_id: None: trials of all experiments.
            best_first: True: sort by `searcher.metric`, the best trial first.
            descending: True: the newest trial first; with `best_first`, the worst.
            states: Only trials in these states.
            name: Only trials of experiments whose name matches this glob.
            label: Only trials of experiments with this label.
            archived: True or False: only those that are archived or not. None: all.
            running: True: only those with a live process.
        """
        page = page_of(
            by_metric=best_first,
            descending=descending,
            state=",".join(_texts(states, "states")) or None,
            name=name,
            tag=label,
            archived=archived,
            running=running,
        )
        identity = 0 if experiment_id is None else _identity(experiment_id, "experiment_id")
        found = entries(self._connection, "det_client_list_trials", identity, page=page)
        return Listing(Trial(self, entry) for entry in found)

    def get_metrics(
        self, trial_id: int, name: str, group: str = "training"
    ) -> _metrics.MetricSeries:
        """Returns all values of one metric of a trial."""
        return _metrics.read_series(self._connection, _identity(trial_id, "trial_id"), group, name)

    def get_checkpoint(self, uuid: str) -> Checkpoint:
        """Returns a checkpoint by its id, or by the first 4 or more characters of it."""
        if not isinstance(uuid, str):
            raise TypeError(f"uuid must be the text of an id, not {type(uuid).__name__}: {uuid!r}")
        return Checkpoint(self, self._ask_about("det_client_find_checkpoint", uuid))

    def list_checkpoints(
        self, trial_id: int | None = None, *, descending: bool = False
    ) -> Iterator[Checkpoint]:
        """Lists the checkpoints of one trial, or of all trials."""
        identity = 0 if trial_id is None else _identity(trial_id, "trial_id")
        page = page_of(descending=descending)
        found = entries(self._connection, "det_client_list_checkpoints", identity, page=page)
        return Listing(Checkpoint(self, entry) for entry in found)

    def sync(self) -> dict[str, Any]:
        """Delivers the reports that killed processes left behind."""
        return self._connection.ask("det_client_sync")  # type: ignore[no-any-return]

    def search_events(self, experiment_id: int, timeout: float = 60.0) -> list[dict[str, Any]]:
        """Returns the next events of a search that a program decides.

        It waits for at most `timeout` seconds. If nothing happens in that time, the list is empty.
        """
        limit = _capi.milliseconds(timeout, "timeout")
        answer = self._ask_about("det_client_search_events", experiment_id, limit)
        return answer["events"]  # type: ignore[no-any-return]

    def post_operations(
        self, experiment_id: int, event_id: int, operations: list[dict[str, Any]]
    ) -> str | None:
        """Sends the operations that a program decided, and acknowledges all events up to
        `event_id`.

        Returns:
            The reason if some operations were rejected, else None.
        """
        text = encode(operations, "the operations")
        answer = self._ask_about("det_client_post_operations", experiment_id, event_id, text)
        return answer["refused"]  # type: ignore[no-any-return]

    def _open_storage(self, uuid: str) -> Owned:
        name = _capi.encoded(uuid, "uuid")
        return self._connection.use(
            lambda client: Owned(
                _capi.handle("det_client_open_storage", client, name), "det_storage_free"
            )
        )

    def _ask_about(self, function: str, identity: int | str, *arguments: Any) -> dict[str, Any]:
        if isinstance(identity, str):
            about: Any = _capi.encoded(identity, "id")
        else:
            about = _identity(identity, "id")
        return self._connection.ask(function, about, *arguments)  # type: ignore[no-any-return]


def login(options: _abi.det_client_options) -> dict[str, Any]:
    return _account("det_client_login", options)


def logout(options: _abi.det_client_options) -> dict[str, Any]:
    return _account("det_client_logout", options)


def _account(function: str, options: _abi.det_client_options) -> dict[str, Any]:
    answer = interruptible(lambda: _capi.text(function, ctypes.byref(options)))
    return json.loads(answer)  # type: ignore[no-any-return]


def _identity(value: int, what: str) -> int:
    number = integer(value, what)
    if not 0 <= number < 2**63:
        raise ValueError(f"{what} must be from 0 to 2^63-1, not {number}")
    return number


def _texts(values: Iterable[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise TypeError(f"{what} must be several texts, not one: {values!r}")
    return [str(value) for value in values]
