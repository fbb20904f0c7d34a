"""A rank of the tests of detcore.keras over ranks: keras_rank.py FOLDER CASE..., whose outcomes it
writes to FOLDER."""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras_rank_cases
from detcore.core import DistributedContext


def main() -> None:
    folder, *names = sys.argv[1:]
    with DistributedContext.from_env() as ranks:
        place = Path(folder, f"rank-{ranks.rank}")
        place.mkdir()
        os.chdir(place)  # whose code a checkpoint keeps
        Path("model_def.py").write_text("")
        Path("spec.json").write_text("{}")
        for name in names:
            try:
                keras_rank_cases.run(name, ranks)
                failure = None
            except BaseException:
                failure = traceback.format_exc()
            with Path(folder, f"{name}.{ranks.rank}.json").open("w") as file:
                json.dump(failure, file)
            if failure is not None:
                sys.exit(f"{name}: {failure}")  # what comes next would not be in step


if __name__ == "__main__":
    main()
