"""How the global batch size is divided between slots."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from detcore.trial._errors import InvalidExperimentException

if TYPE_CHECKING:
    from collections.abc import Mapping

_log = logging.getLogger("detcore.trial")


class BatchSizes(NamedTuple):
    per_slot: int
    #: What all slots train together: a multiple of the slots, at most what was configured.
    total: int


def divide(hparams: Mapping[str, Any], slots: int, trial: str) -> BatchSizes:
    """The hyperparameter global_batch_size over `slots`; `trial` names the kind in errors."""
    if "global_batch_size" not in hparams:
        raise InvalidExperimentException(
            "Please specify an integer `global_batch_size` hyperparameter in your experiment "
            f"config. It is a required hyperparameter for {trial}-based training."
        )
    configured = hparams["global_batch_size"]
    if not isinstance(configured, int):
        raise InvalidExperimentException(
            "The `global_batch_size` hyperparameter must be an integer value, not "
            f"{type(configured).__name__}"
        )
    slots = max(slots, 1)
    if configured < slots:
        raise InvalidExperimentException(
            "Please set the `global_batch_size` hyperparameter to be greater or equal to the "
            f"number of slots. Current batch_size: {configured}, slots_per_trial: {slots}."
        )
    sizes = BatchSizes(configured // slots, configured // slots * slots)
    if sizes.total != configured:
        _log.warning(
            "`global_batch_size` changed from %d to %d to divide equally across %d slots.",
            configured,
            sizes.total,
            slots,
        )
    return sizes
