"""Creates an experiment, which a `det run` in the background runs."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from detcore._det_run import DetRun, read_config, with_label
from detcore._json import encode

if TYPE_CHECKING:
    from detcore.client._experiments import Experiment

_started: list[DetRun] = []  # they outlive their callers, and this process


class Lists(Protocol):
    """The part of a Client that finds the experiment of a `det run`."""

    def list_experiments(self, *, labels: Sequence[str]) -> Iterator[Experiment]: ...


def create_experiment(
    open_client: Callable[[], Lists],
    master: str | None,
    config: dict[str, Any] | str | os.PathLike[str],
    model_dir: str | os.PathLike[str] | None,
    command: Sequence[str],
    slots: int | None,
) -> Experiment:
    label = f"new-{uuid.uuid4().hex}"  # the label by which it finds the experiment
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(encode(with_label(read_config(config), label), "the configuration"))
        file.flush()
        options = [] if slots is None else ["--slots", str(slots)]
        arguments = [file.name, *options, *(["--", *command] if command else [])]
        run = DetRun(arguments, master=master, directory=model_dir, quiet=True)
        _started[:] = [run, *(other for other in _started if other.exit_code is None)]
        while True:
            has_left = run.exit_code is not None  # asked first, to find it below
            for experiment in _made(open_client, label):
                experiment.remove_label(label)
                run.close()
                return experiment
            if has_left:
                raise run.failure("creating an experiment")
            time.sleep(0.02)


def _made(open_client: Callable[[], Lists], label: str) -> list[Experiment]:
    try:
        return list(open_client().list_experiments(labels=[label]))
    except LookupError:  # no store yet: `det run` makes it
        return []
