"""Saves and restores the files of a TFKerasTrial."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from detcore._json import encode
from detcore.keras import _layer_random, _optimizer_weights
from detcore.trial import CheckFailedError, _code, _random_state
from detcore.trial._code import LOAD_DATA
from detcore.trial._entrypoint import entrypoint_of
from detcore.trial._pickles import RANDOM, SEQUENCER, dump, read
from detcore.trial._written_by import check_trial_type, tell_other_release

if TYPE_CHECKING:
    import pathlib

    from detcore.keras._context import TFKerasTrialContext
    from detcore.keras._multiplexer import Multiplexer
    from detcore.trial import WorkloadSource

_log = logging.getLogger("detcore.keras")

TRIAL_TYPE = "TFKerasTrial"
WEIGHTS = "determined-keras-model-weights"
OPTIMIZERS = "determined-keras-optimizer-weights.h5"
CALLBACKS = "determined-callbacks.v1.pkl"
_LAYERS = "keras_layer_rng_states"
# Older releases have the model and its optimizer in one file.
WHOLE_MODEL = "determined-keras-model.h5"
OLDEST_MODEL = "determined-keras-model"
_UNFIT = "the checkpoint does not fit the model of this trial"


class Checkpoint:
    """Writes and reads the checkpoints of a trial. It also reads those of Determined.

    Names and layout are those of Determined, so that its loader reads them too.
    """

    def __init__(
        self,
        model: Any,
        context: TFKerasTrialContext,
        multiplexer: Multiplexer,
        workloads: WorkloadSource,
        trial_class: type[Any],
    ) -> None:
        self._model = model
        self._context = context
        self._multiplexer = multiplexer
        self._workloads = workloads
        self._trial_class = trial_class

    def random_state(self) -> dict[str, Any]:
        """Returns the random state of this rank, for save()."""
        return {**_random_state.get(), _LAYERS: _layer_random.get(self._model)}

    def save(self, path: pathlib.Path, random_states: list[dict[str, Any]]) -> None:
        """Saves the trial, on the chief. Callbacks may add files, and must find the other files
        complete."""
        self._model.save_weights(str(path / WEIGHTS), save_format="tf")
        optimizers = self._context._optimizers()
        _optimizer_weights.save(path / OPTIMIZERS, optimizers, self._model, path / WEIGHTS)
        for rank, random_state in enumerate(random_states):
            dump(path / _random_state.name_of(rank), random_state)
        _code.copy(path / "code")
        dump(path / CALLBACKS, self._multiplexer.get_state())
        self._multiplexer.end_checkpoint(str(path))
        state = self._workloads.state()
        if state:
            dump(path / SEQUENCER, state)
        load_data = {
            "trial_type": TRIAL_TYPE,
            "experiment_config": _code.without_secrets(self._context.get_experiment_config()),
            "hparams": self._context.get_hparams(),
            "trial_cls_spec": entrypoint_of(self._trial_class),
        }
        (path / LOAD_DATA).write_bytes(encode(load_data, LOAD_DATA))

    def restore(self, path: pathlib.Path) -> None:
        """Restores the trial, on every rank, before training begins."""
        check_trial_type(path, TRIAL_TYPE)
        tell_other_release(path)
        self._restore_model(path)
        own = path / _random_state.name_of(self._context.distributed.rank)
        random = own if own.exists() else path / RANDOM
        if random.exists():
            states = read(random)
            _random_state.load(states)
            if _LAYERS in states:  # missing in Determined's
                _layer_random.load(self._model, states[_LAYERS])
        else:
            _log.warning("The checkpoint has no %s: random numbers start anew.", RANDOM)
        if (path / CALLBACKS).exists():
            self._multiplexer.restore(read(path / CALLBACKS))
        if (path / SEQUENCER).exists():
            self._workloads.load_state(read(path / SEQUENCER))

    def _restore_model(self, path: pathlib.Path) -> None:
        optimizers = self._context._optimizers()
        for whole in (WHOLE_MODEL, OLDEST_MODEL):
            if (path / whole).exists():
                self._model.load_weights(str(path / whole))
                _optimizer_weights.load(path / whole, optimizers, self._model, path / whole)
                return
        self._load_weights(path / WEIGHTS)
        if (path / OPTIMIZERS).exists():
            _optimizer_weights.load(path / OPTIMIZERS, optimizers, self._model, path / WEIGHTS)

    def _load_weights(self, path: pathlib.Path) -> None:
        """Loads the weights. CheckFailedError if they are of another model, of which Keras would
        load a part."""
        if not path.with_suffix(".index").exists():
            raise CheckFailedError(
                f"the checkpoint has no {WEIGHTS}: it is not that of a {TRIAL_TYPE}"
            )
        try:
            self._model.load_weights(str(path))
        except ValueError as failure:
            raise CheckFailedError(f"{_UNFIT}: {failure}") from failure
        if self._model.built:
            missing = [weight.name for weight in self._model.weights if not _is_restored(weight)]
            if missing:
                raise CheckFailedError(f"{_UNFIT}: it lacks {', '.join(missing)}")


def _is_restored(weight: Any) -> bool:
    # In mixed precision the restored optimizer may be inside another one. Releases that count in
    # another way are trusted.
    both = (weight, getattr(weight, "_variable", weight))
    return any(getattr(one, "_update_uid", 0) >= 0 for one in both)
