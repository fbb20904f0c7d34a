"""A training loop that resumes from its latest checkpoint, however it was stopped.

Run it as `python3 minimal.py`.
"""

from __future__ import annotations

import sys
import time
from array import array

from detcore import core

# Every start with this name continues the same trial.
with core.init(external_id="minimal") as context:
    weight, stop = array("d", [0.0]), False
    step = context.checkpoint.load_state({"weight": weight})
    print("from step", step, flush=True)
    while step < 1000 and not stop:
        weight[0] -= 0.02 * (weight[0] - 3)  # your training goes here,
        time.sleep(0.005)  # and takes longer
        step += 1
        context.train.report_training_metrics(step, {"loss": (weight[0] - 3) ** 2})
        stop = context.preempt.should_preempt()
        if stop or step % 100 == 0:
            context.checkpoint.save_state(step, {"weight": weight})
print(f"weight {weight[0]:.3f} at step {step}")
sys.exit(context.exit_status)
