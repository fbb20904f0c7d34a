"""A rank of the tests of trials over ranks: trial_rank.py MODULE FOLDER CASE... does cases of the
module, whose outcomes it writes to FOLDER."""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import traceback
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from detcore.trial._horovod import join_ranks


def main() -> None:
    module, folder, *names = sys.argv[1:]
    cases = importlib.import_module(module)
    with join_ranks() as ranks:
        place = Path(folder, f"rank-{ranks.rank}")
        place.mkdir()
        os.chdir(place)  # whose code a checkpoint keeps
        Path("model_def.py").write_text("")
        Path("spec.json").write_text("{}")
        for name in names:
            try:
                cases.run(name, ranks)
                failure = None
            except BaseException:
                failure = traceback.format_exc()
            with Path(folder, f"{name}.{ranks.rank}.json").open("w") as file:
                json.dump(failure, file)
            if failure is not None:
                sys.exit(f"{name}: {failure}")  # what comes next would not be in step
    gc.collect()  # as detcore.trial.run() does, for MPI to end


if __name__ == "__main__":
    main()
