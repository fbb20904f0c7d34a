"""Checks which kind of trial and which release of TensorFlow saved a checkpoint."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from detcore.trial._code import LOAD_DATA
from detcore.trial._errors import CheckFailedError
from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    import pathlib

_log = logging.getLogger("detcore.trial")

METADATA = "metadata.json"
_NAME = "tensorflow-"


def check_trial_type(checkpoint: pathlib.Path, expected: str) -> None:
    """Raises CheckFailedError if another kind of trial saved it. A checkpoint without a kind is
    accepted."""
    if not (checkpoint / LOAD_DATA).exists():
        return
    kind = json.loads((checkpoint / LOAD_DATA).read_text()).get("trial_type")
    if kind != expected:
        raise CheckFailedError(
            f"the checkpoint is that of a {kind}, from which no {expected} can resume"
        )


def tell_other_release(checkpoint: pathlib.Path) -> None:
    """Warns about another release. All releases can read weights."""
    if not (checkpoint / METADATA).exists():
        return
    framework = str(json.loads((checkpoint / METADATA).read_text()).get("framework", ""))
    version = framework[len(_NAME) :]
    if framework.startswith(_NAME) and _release(version) != _release(tf.__version__):
        _log.warning(
            "The checkpoint was written with TensorFlow %s, and is read with %s: random numbers "
            "and optimizers may continue in another way.",
            version,
            tf.__version__,
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]
