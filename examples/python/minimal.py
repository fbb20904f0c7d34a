"""The smallest training that can be stopped at any instant: each start goes on where the last one
was stopped, until it is done. It is examples/c/minimal.c in Python.

    python3 minimal.py
"""

from __future__ import annotations

import sys
import time

from detcore import core

config = {"searcher": {"name": "single", "max_length": 1000}}

# No cluster needed: the master is inside. Each start goes on with the trial of this name.
with core.init(external_id="minimal", config=config) as context:
    assert context.info is not None
    trial = context.info.trial
    rate, weight, step = trial.hparams.get("rate", 0.01), 0.0, trial.steps_completed
    if context.info.latest_checkpoint:
        with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
            weight = float.fromhex((path / "weight").read_text())
    print("from step", step, flush=True)

    stop = False
    for operation in context.searcher.operations():
        while step < operation.length and not stop:
            weight -= rate * 2 * (weight - 3)  # your training goes here
            time.sleep(0.005)
            step += 1
            context.train.report_training_metrics(step, {"loss": (weight - 3) ** 2})
            stop = context.preempt.should_preempt()
            if stop or step % 100 == 0:
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (path / "weight").write_text(weight.hex())
        if stop:
            break
        operation.report_completed((weight - 3) ** 2)
print(f"weight {weight:.3f} at step {step}")
sys.exit(context.exit_status)  # not 0 when there is more to do
