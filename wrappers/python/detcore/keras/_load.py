"""Loads a trained model from a checkpoint."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any, NamedTuple

from detcore._code import import_from_path
from detcore.keras._checkpoint import WEIGHTS, WHOLE_MODEL
from detcore.keras._context import TFKerasTrialContext
from detcore.trial import InvalidExperimentException
from detcore.trial._code import LOAD_DATA
from detcore.trial._offline import environment_of
from detcore.trial._written_by import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

_log = logging.getLogger("detcore.keras")


class _Saved(NamedTuple):
    config: dict[str, Any]
    hparams: dict[str, Any]
    #: "module:Class"
    trial_class: str
    weights: str


def load_model_from_checkpoint_path(path: str, tags: list[str] | None = None) -> Any:
    """Returns the model of a TFKerasTrial with its weights.

    It runs the author's code in the checkpoint, which builds the model.

    Args:
        path: The directory into which the checkpoint was downloaded.
        tags: Ignored.

    Raises:
        AssertionError: It is not a checkpoint of a TFKerasTrial. The message has the reason.
    """
    folder = pathlib.Path(path)
    saved = _saved(folder)
    module, _, name = saved.trial_class.partition(":")
    with import_from_path(folder / "code"):
        with _in_directory(folder / "code"):
            try:
                trial_class = importlib.import_module(module)
            except SystemExit as ended:
                raise InvalidExperimentException(
                    f"importing {module} of the checkpoint ended the program ({ended}): its code "
                    "must be importable, with what runs it under if __name__ == '__main__'"
                ) from ended
        for part in name.split("."):
            trial_class = getattr(trial_class, part)
        trial: Any = trial_class
        context = TFKerasTrialContext(environment_of(saved.config, saved.hparams))
        model = trial(context).build_model()
    status = model.load_weights(str(folder / saved.weights))
    if status is not None:  # nothing is known about an optimizer
        status.expect_partial()
    return model


def _saved(folder: pathlib.Path) -> _Saved:
    if (folder / LOAD_DATA).exists():
        facts = json.loads((folder / LOAD_DATA).read_text())
        if facts["trial_type"] != "TFKerasTrial":
            _log.warning("The checkpoint is that of a %s, not TFKerasTrial.", facts["trial_type"])
        spec = facts["trial_cls_spec"]
        return _Saved(facts["experiment_config"], facts["hparams"], spec, WEIGHTS)
    if not (folder / METADATA).exists():
        raise AssertionError(
            f"{folder} has neither {LOAD_DATA} nor {METADATA}: download the whole checkpoint. "
            "Those of before 0.17.8 need a metadata.json written beside their files, with "
            "framework, format, experiment_config and hparams."
        )
    facts = json.loads((folder / METADATA).read_text())
    if not str(facts.get("framework", "")).startswith("tensorflow"):
        _log.warning("The checkpoint is one of %s, not tensorflow.", facts.get("framework"))
    if facts.get("format") not in _WEIGHTS_OF:
        raise AssertionError(f"{folder}: the format {facts.get('format')!r} is unknown")
    if "experiment_config" not in facts:
        raise KeyError(f"{folder}/{METADATA} lacks experiment_config, and there is no {LOAD_DATA}")
    config = facts["experiment_config"]
    return _Saved(config, facts["hparams"], config["entrypoint"], _WEIGHTS_OF[facts["format"]])


_WEIGHTS_OF = {"saved_weights": WEIGHTS, "h5": WHOLE_MODEL}


@contextlib.contextmanager
def _in_directory(folder: pathlib.Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
