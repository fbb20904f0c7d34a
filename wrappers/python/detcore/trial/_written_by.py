"""Which release of TensorFlow a checkpoint is of."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from detcore.trial._tensorflow import tf

if TYPE_CHECKING:
    import pathlib

_log = logging.getLogger("detcore.trial")

_METADATA = "metadata.json"
_NAME = "tensorflow-"


def tell_other_release(checkpoint: pathlib.Path) -> None:
    """Warns, and no more: weights are read by all releases."""
    if not (checkpoint / _METADATA).exists():
        return
    framework = str(json.loads((checkpoint / _METADATA).read_text()).get("framework", ""))
    version = framework[len(_NAME) :]
    if framework.startswith(_NAME) and _release(version) != _release(tf.__version__):
        _log.warning(
            "The checkpoint was written with TensorFlow %s, and is read with %s: random numbers "
            "and optimizers may go on in another way.",
            version,
            tf.__version__,
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]
