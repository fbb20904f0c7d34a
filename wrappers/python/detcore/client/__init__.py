"""Reads and steers experiments, trials, metrics, checkpoints and logs.

    from detcore import client

    for experiment in client.list_experiments():
        print(experiment.id, experiment.name, experiment.state, experiment.best_metric)

All functions of this module share one Client, which opens at its first use. login() chooses another
master. docs/python-client.md has more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from detcore.client import _client, _create
from detcore.client._client import Client
from detcore.client._connection import options_of
from detcore.client._experiments import BestTrial, Checkpoint, Experiment, Trial
from detcore.client._logs import LogLine
from detcore.client._metrics import MetricSeries, TrialMetrics
from detcore.client._states import (
    CheckpointSortBy,
    CheckpointState,
    ExperimentSortBy,
    ExperimentState,
    LogLevel,
    OrderBy,
    TrialSortBy,
    TrialState,
)

__all__ = [
    "BestTrial",
    "Checkpoint",
    "CheckpointSortBy",
    "CheckpointState",
    "Client",
    "Experiment",
    "ExperimentSortBy",
    "ExperimentState",
    "LogLevel",
    "LogLine",
    "MetricSeries",
    "OrderBy",
    "Trial",
    "TrialMetrics",
    "TrialSortBy",
    "TrialState",
    "create_experiment",
    "get_checkpoint",
    "get_experiment",
    "get_session_username",
    "get_trial",
    "list_checkpoints",
    "list_experiments",
    "list_trials",
    "login",
    "logout",
    "sync",
    "whoami",
]

_default: Client | None = None
_lock = threading.Lock()


def _shared() -> Client:
    global _default
    with _lock:
        if _default is None:
            _default = Client()
        return _default


def _forget() -> None:
    """Lets a forked child open a separate client."""
    global _default, _lock
    _default, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def login(
    master: str | os.PathLike[str] | None = None,
    user: str | None = None,
    password: str | None = None,
    *,
    cert_file: str | os.PathLike[str] | None = None,
) -> None:
    """Chooses the master for the functions of this module.

    With a `user` and a `password` it also keeps the login for other programs, as `det login` does.

    Args:
        master: The URL of a master, or the directory of a store.
        user: The user to log in.
        password: The password of that user.
        cert_file: A PEM file with the certificate of the master or of its authority.
    """
    global _default
    if user is not None and password is not None:
        _client.login(options_of(master, user, password, None, cert_file, None))
    chosen = Client(master, user, password, cert_file=cert_file)
    with _lock:
        _default = chosen


def logout(master: str | os.PathLike[str] | None = None, user: str | None = None) -> dict[str, Any]:
    """Logs a user out, and removes the kept login here and on the master.

    Args:
        master: The URL of the master.
        user: None: the user who is logged in.
    """
    return _client.logout(options_of(master, user, None, None, None, None))


def create_experiment(
    config: dict[str, Any] | str | os.PathLike[str],
    model_dir: str | os.PathLike[str] | None = None,
    *,
    command: Sequence[str] = (),
    slots: int | None = None,
) -> Experiment:
    """Starts an experiment in the background, as Client.create_experiment() does.

    It makes a missing store.
    """
    master = _default.master if _default is not None else None
    return _create.create_experiment(_shared, master, config, model_dir, command, slots)


def whoami() -> dict[str, Any]:
    """Returns the user as whom this program works with a master over HTTP."""
    return _shared().whoami()


def get_session_username() -> str:
    """Returns the name of the user as whom this program works with a master over HTTP."""
    return str(whoami()["username"])


def get_experiment(experiment_id: int) -> Experiment:
    """Returns an experiment by its id."""
    return _shared().get_experiment(experiment_id)


def list_experiments(*arguments: Any, **filters: Any) -> Iterator[Experiment]:
    """Lists experiments, with the arguments of Client.list_experiments()."""
    return _shared().list_experiments(*arguments, **filters)


def get_trial(trial_id: int | str) -> Trial:
    """Returns a trial by its id or its external id."""
    return _shared().get_trial(trial_id)


def list_trials(*arguments: Any, **filters: Any) -> Iterator[Trial]:
    """Lists trials, with the arguments of Client.list_trials()."""
    return _shared().list_trials(*arguments, **filters)


def get_checkpoint(uuid: str) -> Checkpoint:
    """Returns a checkpoint by its id, or by the first 4 or more characters of it."""
    return _shared().get_checkpoint(uuid)


def list_checkpoints(*arguments: Any, **filters: Any) -> Iterator[Checkpoint]:
    """Lists checkpoints, with the arguments of Client.list_checkpoints()."""
    return _shared().list_checkpoints(*arguments, **filters)


def sync() -> dict[str, Any]:
    """Delivers the reports that killed processes left behind."""
    return _shared().sync()
