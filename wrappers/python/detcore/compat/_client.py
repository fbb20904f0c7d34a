"""`determined.experimental.client`: detcore.client with Determined's arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union

from detcore import client
from detcore._arguments import only_defaults
from detcore.client import Client, Experiment, Trial
from detcore.client import OrderBy as CheckpointOrderBy
from detcore.client import OrderBy as ExperimentOrderBy
from detcore.client import OrderBy as TrialOrderBy
from detcore.compat import missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Path = Union[str, "os.PathLike[str]"]
ExperimentReference = Experiment
TrialReference = Trial


class Determined(Client):
    def __init__(
        self,
        master: str | None = None,
        user: str | None = None,
        password: str | None = None,
        cert_path: Path | None = None,
        cert_name: str | None = None,
        noverify: bool = False,
    ) -> None:
        cert_file = _certificate(cert_path, cert_name, noverify)
        super().__init__(master, user, password, cert_file=cert_file)

    def create_experiment(  # type: ignore[override]
        self,
        config: dict[str, Any] | Path,
        model_dir: Path | None = None,
        includes: Sequence[Path] | None = None,
        project_id: int | None = None,
        template: str | None = None,
    ) -> Experiment:
        _only_in_a_directory(includes, project_id, template)
        return super().create_experiment(config, model_dir)

    def list_experiments(  # type: ignore[override]
        self,
        sort_by: str | None = None,
        order_by: str | None = None,
        experiment_ids: Iterable[int] | None = None,
        labels: Iterable[str] | None = None,
        users: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        name: str | None = None,
        project_id: int | None = None,
    ) -> Iterator[Experiment]:
        filters = _filters(experiment_ids, labels, users, states, name, project_id)
        return super().list_experiments(sort_by, client.OrderBy(order_by), **filters)

    def get_session_username(self) -> str:
        return str(self.whoami()["username"])


def login(
    master: str | None = None,
    user: str | None = None,
    password: str | None = None,
    cert_path: Path | None = None,
    cert_name: str | None = None,
    noverify: bool = False,
) -> None:
    cert_file = _certificate(cert_path, cert_name, noverify)
    client.login(master, user, password, cert_file=cert_file)


def create_experiment(
    config: dict[str, Any] | Path,
    model_dir: Path | None = None,
    includes: Sequence[Path] | None = None,
    project_id: int | None = None,
    template: str | None = None,
) -> Experiment:
    _only_in_a_directory(includes, project_id, template)
    return client.create_experiment(config, model_dir)


def list_experiments(
    sort_by: str | None = None,
    order_by: str | None = None,
    experiment_ids: Iterable[int] | None = None,
    labels: Iterable[str] | None = None,
    users: Iterable[str] | None = None,
    states: Iterable[str] | None = None,
    name: str | None = None,
    project_id: int | None = None,
) -> Iterator[Experiment]:
    filters = _filters(experiment_ids, labels, users, states, name, project_id)
    return client.list_experiments(sort_by, client.OrderBy(order_by), **filters)


def _only_in_a_directory(includes: Any, project_id: Any, template: Any) -> None:
    # Trials run in model_dir itself, and nothing is added to it.
    only_defaults(
        "create_experiment()", includes=includes, project_id=project_id, template=template
    )


def _filters(
    experiment_ids: Iterable[int] | None,
    labels: Iterable[str] | None,
    users: Iterable[str] | None,
    states: Iterable[str] | None,
    name: str | None,
    project_id: int | None,
) -> dict[str, Any]:
    only_defaults("list_experiments()", users=users, project_id=project_id)
    return {
        "experiment_ids": experiment_ids,
        "labels": labels or (),
        "states": states or (),
        "name": None if name is None else f"*{name}*",  # it matches a part of the name
    }


def _certificate(path: Path | None, name: str | None, noverify: bool) -> Path | None:
    if name is not None:
        os.environ["DET_MASTER_CERT_NAME"] = name
    return "noverify" if noverify else path


__all__ = [
    *client.__all__,
    "CheckpointOrderBy",
    "Determined",
    "ExperimentOrderBy",
    "ExperimentReference",
    "TrialOrderBy",
    "TrialReference",
]

_missing = missing("determined.experimental.client", __all__)


def __getattr__(name: str) -> Any:
    return getattr(client, name) if name in client.__all__ else _missing(name)
