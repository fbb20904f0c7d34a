"""Trains the trial that MODULE:CLASS names. `det run` starts it for an entrypoint of that form."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from detcore import compat  # trials written for determined import it
from detcore.errors import InvalidHP
from detcore.trial import InvalidExperimentException, run, test_one_batch
from detcore.trial._entrypoint import check_entrypoint, load_trial_class

_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m detcore.trial", description=__doc__)
    parser.add_argument(
        "entrypoint", metavar="MODULE:CLASS", help="the trial, such as model_def:MnistTrial"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="the experiment configuration, if det run does not give it"
    )
    parser.add_argument(
        "--external-id", metavar="NAME", help="without det run: resume the trial of this name"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument(
        "--test", action="store_true", help="train, validate and save one batch, and keep nothing"
    )
    only.add_argument(
        "--check", action="store_true", help="only look for the class, and run nothing"
    )
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    if sys.path[0] != os.getcwd():  # as with python -P
        sys.path.insert(0, os.getcwd())
    try:
        if given.check:
            check_entrypoint(given.entrypoint)
            return
        logging.basicConfig(level=logging.INFO, format=_FORMAT)
        compat.install_in_children()
        trial_class = load_trial_class(given.entrypoint)
    except InvalidExperimentException as refusal:
        print(f"detcore.trial: {refusal}", file=sys.stderr)
        sys.exit(2)
    if given.test:
        try:
            test_one_batch(trial_class, given.config)
        except InvalidHP as refusal:
            sys.exit(f"InvalidHP: {refusal}")
    else:
        options = {"external_id": given.external_id} if given.external_id else {}
        run(trial_class, given.config, **options)


if __name__ == "__main__":
    main()
