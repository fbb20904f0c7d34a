"""A rank of examples/python/torch_ddp.py under torchrun: ddp_rank.py REPORTS SIGNAL:STEP..., where
each start that torchrun makes takes the next signal, and REPORTS gets the steps of validations."""

from __future__ import annotations

import os
import runpy
import sys

from example_runs import EXAMPLES, watch_validations

reports, *signals = sys.argv[1:]
start = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
number, at = map(int, signals[start].split(":")) if start < len(signals) else (0, 0)
file = os.open(reports, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
watch_validations(file, number, at)
runpy.run_path(str(EXAMPLES / "torch_ddp.py"), run_name="__main__")
