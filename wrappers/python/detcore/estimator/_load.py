"""An exported model out of a checkpoint."""

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
    """What `tf.compat.v1.saved_model.load_v2()` makes of the SavedModel in the checkpoint of an
    EstimatorTrial with a serving input receiver. `path` is where the checkpoint was downloaded to,
    or, where it has several, the directory of one; `tags` are those of the SavedModel, which is
    written with "serve".

    FileNotFoundError: there is no SavedModel. AssertionError: there are several.
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
