"""Wraps det/trial.h in thin classes, for trial layers of any framework."""

from __future__ import annotations

import ctypes
import json
from ctypes import byref, c_char_p, c_double, c_int32, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from detcore import _abi
from detcore._capi import call, handle, library, text
from detcore._interruptible import interruptible
from detcore._json import encode
from detcore._owned import Owned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from detcore.core._core import Core

TRAIN = _abi.DET_WORKLOAD_TRAIN
VALIDATE = _abi.DET_WORKLOAD_VALIDATE
CHECKPOINT = _abi.DET_WORKLOAD_CHECKPOINT
_MODES = {
    "auto": _abi.DET_MONITOR_BY_NAME,
    "min": _abi.DET_MONITOR_MIN,
    "max": _abi.DET_MONITOR_MAX,
}


class Workload(NamedTuple):
    """One piece of work: TRAIN, VALIDATE or CHECKPOINT."""

    kind: int
    step_id: int
    batches: int
    batches_done: int


class Sequencer:
    """Decides which workload comes next. All ranks call each method except state() in step."""

    def __init__(
        self, core: Core, global_batch_size: int, config: Mapping[str, Any] | None = None
    ) -> None:
        given = None if config is None else encode(config, "config")
        self._sequencer: Owned = interruptible(
            lambda: Owned(
                handle("det_trial_sequencer_create", core._core.address, given, global_batch_size),
                "det_trial_sequencer_free",
                core,
            )
        )

    def next(self) -> Workload | None:
        """Returns the next workload. None: the trial should leave."""
        sequencer = self._sequencer
        return interruptible(lambda: self._next(sequencer))

    @staticmethod
    def _next(sequencer: Owned) -> Workload | None:
        out = _abi.det_workload(struct_size=ctypes.sizeof(_abi.det_workload))
        if call("det_trial_sequencer_next", sequencer.address, byref(out)) == _abi.DET_DONE:
            return None
        return Workload(out.kind, out.step_id, out.batches, out.batches_done)

    def respond(self, response: Mapping[str, Any]) -> None:
        """Answers the workload in Determined's form. The chief reports it."""
        given, sequencer = encode(response, "response"), self._sequencer
        interruptible(lambda: call("det_trial_sequencer_respond", sequencer.address, given))

    def respond_invalid_hparams(self) -> None:
        sequencer = self._sequencer
        interruptible(
            lambda: call("det_trial_sequencer_respond_invalid_hparams", sequencer.address)
        )

    def state(self) -> dict[str, int]:
        """Returns the chief's state for a checkpoint."""
        return cast(
            "dict[str, int]",
            json.loads(text("det_trial_sequencer_state", self._sequencer.address)),
        )

    def load_state(self, state: Mapping[str, int]) -> None:
        given, sequencer = encode(state, "state"), self._sequencer
        interruptible(lambda: call("det_trial_sequencer_load_state", sequencer.address, given))


class BatchSizes(NamedTuple):
    """The records of a batch. `warning` is a text if they differ from the hyperparameter."""

    per_slot: int
    global_: int
    warning: str | None


def divide_batch(hparams: Mapping[str, Any], slots: int, trial_kind: str) -> BatchSizes:
    """Divides the hyperparameter `global_batch_size` among the slots."""
    per_slot, global_, warning = c_int64(), c_int64(), c_void_p()
    given = encode(hparams, "hparams")
    sizes = byref(per_slot), byref(global_), byref(warning)
    call("det_trial_batch_sizes", given, slots, trial_kind.encode(), *sizes)
    said = None
    if warning.value:
        try:
            said = ctypes.string_at(warning.value).decode()
        finally:
            library.det_free(warning)
    return BatchSizes(per_slot.value, global_.value, said)


def env_from_config(
    config: Mapping[str, Any] | None, seed: int, hparams: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns `experiment_config`, `hparams` and `trial_seed` of a trial that no master knows.

    Hyperparameters that are not given are drawn at random.
    """
    texts = [None if one is None else encode(one, "config") for one in (config, hparams)]
    return cast("dict[str, Any]", json.loads(text("det_trial_env_from_config", *texts, seed)))


class Sampler:
    """Decides which batches of a Sequence one shard trains, epoch after epoch."""

    def __init__(
        self,
        length: int,
        shard: int = 0,
        shards: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        skip: int = 0,
    ) -> None:
        options = _abi.det_trial_sampler_options(
            struct_size=ctypes.sizeof(_abi.det_trial_sampler_options),
            length=length,
            shard=shard,
            shards=shards,
            skip=skip,
            shuffle=int(shuffle),
            seed=seed,
        )
        made = handle("det_trial_sampler_create", byref(options))
        self._sampler = Owned(made, "det_trial_sampler_free")

    def epoch(self) -> Iterator[int]:
        """Yields the remaining batches of the current epoch."""
        index = c_int64()
        while call("det_trial_sampler_next", self._sampler.address, byref(index)) == _abi.DET_OK:
            yield index.value


class _Rule:
    _name: str

    def __init__(self, options: Any) -> None:
        made = handle(f"det_trial_{self._name}_create", byref(options))
        self._rule = Owned(made, f"det_trial_{self._name}_free")

    def _update(self, value: float | None, *out: Any) -> None:
        given = None if value is None else byref(c_double(value))
        call(f"det_trial_{self._name}_update", self._rule.address, given, *out)

    def state(self) -> dict[str, Any]:
        return cast(
            "dict[str, Any]", json.loads(text(f"det_trial_{self._name}_state", self._rule.address))
        )

    def load_state(self, state: Mapping[str, Any]) -> None:
        given = encode(state, "state")
        call(f"det_trial_{self._name}_load_state", self._rule.address, given)


def _mode(mode: str) -> int:
    if mode not in _MODES:
        raise ValueError(f"mode must be auto, min or max, not {mode!r}")
    return _MODES[mode]


class EarlyStoppingRule(_Rule):
    """Stops a trial whose validation metric no longer improves."""

    _name = "early_stopping"

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(
            _abi.det_trial_early_stopping_options(
                struct_size=ctypes.sizeof(_abi.det_trial_early_stopping_options),
                monitor=c_char_p(monitor.encode()),
                min_delta=min_delta,
                baseline=None if baseline is None else ctypes.pointer(c_double(baseline)),
                mode=_mode(mode),
                patience=patience,
                start_from=start_from_epoch,
            )
        )

    def update(self, value: float | None) -> tuple[bool, bool]:
        """Takes the value of a validation. None: the validation did not have the metric.

        It returns two flags: stop now, and this value is the best so far.
        """
        stop, improved = c_int32(), c_int32()
        self._update(value, byref(stop), byref(improved))
        return bool(stop.value), bool(improved.value)


class PlateauRule(_Rule):
    """Lowers the learning rate when the validation metric no longer improves."""

    _name = "plateau"

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(
            _abi.det_trial_plateau_options(
                struct_size=ctypes.sizeof(_abi.det_trial_plateau_options),
                monitor=c_char_p(monitor.encode()),
                factor=factor,
                min_delta=min_delta,
                min_learning_rate=min_lr,
                mode=_mode(mode),
                patience=patience,
                cooldown=cooldown,
            )
        )

    def update(self, value: float | None, learning_rate: float) -> float:
        """Takes the value of a validation, and returns the new learning rate.

        None: the validation did not have the metric.
        """
        rate = c_double(learning_rate)
        self._update(value, byref(rate), None)
        return rate.value
