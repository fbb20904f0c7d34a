"""Saves and restores the files of an EstimatorTrial."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from detcore.trial import _code, _random_state
from detcore.trial._code import LOAD_DATA
from detcore.trial._pickles import RANDOM, SEQUENCER, dump, read
from detcore.trial._written_by import check_trial_type, tell_other_release

if TYPE_CHECKING:
    import pathlib

    from detcore.estimator._model_directory import ModelDirectory
    from detcore.estimator._prepare import Parts
    from detcore.trial import WorkloadSource

_log = logging.getLogger("detcore.estimator")

TRIAL_TYPE = "EstimatorTrial"


class Checkpoint:
    """Writes and reads the checkpoints of a trial. It also reads those of Determined.

    Names and layout are those of Determined, so that its loader reads them too.
    """

    def __init__(
        self, model: ModelDirectory, parts: Parts, workloads: WorkloadSource, rank: int
    ) -> None:
        self._model = model
        self._rank = rank
        self._parts = parts
        self._workloads = workloads

    def save(self, path: pathlib.Path, estimator: Any, random_states: list[Any]) -> None:
        """Saves the trial, on the chief. Hooks may add files, and must find those of TensorFlow
        complete."""
        self._model.save_to(path)
        for name, receiver in self._parts.serving.items():
            estimator.export_saved_model(str(path / name), receiver)
        _code.copy(path / "code")
        for hook in self._parts.run_hooks():
            hook.on_checkpoint_end(str(path))
        for rank, state in enumerate([_random_state.get(), *random_states[1:]]):
            dump(path / _random_state.name_of(rank), state)
        position = self._workloads.state()
        if position:
            dump(path / SEQUENCER, position)
        (path / LOAD_DATA).write_text(json.dumps({"trial_type": TRIAL_TYPE}))

    def restore(self, path: pathlib.Path) -> None:
        """Restores the trial, on every rank, before training begins. TensorFlow loads the model."""
        check_trial_type(path, TRIAL_TYPE)
        tell_other_release(path)
        self._model.load_from(path)
        for hook in self._parts.run_hooks():
            hook.on_checkpoint_load(str(path))
        own = path / _random_state.name_of(self._rank)
        random = own if own.exists() else path / RANDOM
        if random.exists():
            _random_state.load(read(random))
        else:
            _log.warning("The checkpoint has no %s: random numbers start anew.", RANDOM)
        if (path / SEQUENCER).exists():
            self._workloads.load_state(read(path / SEQUENCER))
