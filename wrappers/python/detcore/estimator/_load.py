"""Loads an exported model from a checkpoint."""

from __future__ import annotations

import json
import logging
import pathlib
from typing import Any

from detcore.estimator._checkpoint import TRIAL_TYPE
from detcore.trial._code import LOAD_DATA
from detcore.trial._tensorflow import tf

_log = logging.getLogger("detcore.estimator")


def load_estimator_from_checkpoint_path(path: str, tags: list[str] | None = None) -> Any:
    """Loads the SavedModel in the checkpoint of an EstimatorTrial.

    The trial needs a serving input receiver. The result is that of
    `tf.compat.v1.saved_model.load_v2()`.

    Args:
        path: The directory into which the checkpoint was downloaded. If it has several SavedModels,
            the directory of one.
        tags: The tags of the SavedModel, which is written with "serve".

    Raises:
        FileNotFoundError: The checkpoint has no SavedModel.
        AssertionError: The checkpoint has several SavedModels.
    """
    folder = pathlib.Path(path)
    if (folder / LOAD_DATA).exists():
        kind = json.loads((folder / LOAD_DATA).read_text()).get("trial_type")
        if kind != TRIAL_TYPE:
            _log.warning("The checkpoint is that of a %s, not %s.", kind, TRIAL_TYPE)
    found = sorted(folder.glob("**/saved_model.pb"))
    if not found:
        raise FileNotFoundError(
            f"{folder} has no SavedModel: build_serving_input_receiver_fns() of its trial says "
            "what is exported"
        )
    if len(found) > 1:
        raise AssertionError(
            f"{folder} has several SavedModels; give the directory of one: "
            f"{', '.join(str(model.parent) for model in found)}"
        )
    return tf.compat.v1.saved_model.load_v2(str(found[0].parent), tags or ["serve"])
