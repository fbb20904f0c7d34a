"""A framework for trials without a framework: a number that draws closer to another."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import determined as det  # which detcore.trial stands in for
from detcore.trial import CheckFailedError, Trial, TrialContext, WorkloadKind


class Controller:
    def __init__(self, trial_class: Any, context: Any, core: Any, workloads: Any) -> None:
        self.context, self.core, self.workloads = context, core, workloads
        self.trial = trial_class(context)
        self.random = random.Random(context.get_trial_seed())
        self.number, self.batches = 0.0, 0
        if context.env.latest_checkpoint:
            with core.checkpoint.restore_path(context.env.latest_checkpoint) as path:
                saved = json.loads((path / "state.json").read_text())
            self.number, self.batches = saved["number"], saved["batches"]
            workloads.load_state(saved["workloads"])
            for _ in range(self.batches):
                self.random.random()

    def run(self) -> None:
        while (workload := self.workloads.next()) is not None:
            try:
                response = self.respond(workload)
            except det.InvalidHP as refusal:
                self.workloads.respond(refusal)
                raise
            self.workloads.respond(response)

    def respond(self, workload: Any) -> dict[str, Any]:
        stop = {"stop_requested": self.context.get_stop_requested()}
        if workload.kind is WorkloadKind.RUN_STEP:
            batches = [{"loss": self.train_batch()} for _ in range(workload.num_batches)]
            stop["stop_requested"] = self.context.get_stop_requested()
            return {"metrics": {"batch_metrics": batches, "avg_metrics": batches[-1]}, **stop}
        if workload.kind is WorkloadKind.COMPUTE_VALIDATION_METRICS:
            return {"metrics": {"validation_metrics": {"val_loss": 1 - self.number}}, **stop}
        if self.context.distributed.rank > 0:
            return {}
        with self.core.checkpoint.store_path({"steps_completed": self.batches}) as (path, uuid):
            saved = {"number": self.number, "batches": self.batches}
            saved["workloads"] = self.workloads.state()
            (path / "state.json").write_text(json.dumps(saved))
        return {"uuid": uuid}

    def train_batch(self) -> float:
        self.number += (1 - self.number) * self.random.random() * self.context.get_hparam("rate")
        self.batches += 1
        self.trial.after(self.batches)
        return 1 - self.number


class Counting(Trial):
    trial_controller_class = Controller

    def __init__(self, context: TrialContext) -> None:
        self.context = context
        if context.get_hparam("rate") > 1:
            raise det.InvalidHP("the rate is above 1")

    def after(self, batch: int) -> None:
        """What this trial's author does after a batch."""


class Killed(Counting):
    """Once, after five batches; by another program."""

    def after(self, batch: int) -> None:
        once = Path(os.environ["TMPDIR"], "killed")
        if batch == 5 and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Preempted(Counting):
    def after(self, batch: int) -> None:
        if batch == 3:
            signal.raise_signal(signal.SIGTERM)


class Stopping(Counting):
    def after(self, batch: int) -> None:
        if batch == 3:
            self.context.set_stop_requested(True)


class Refusing(Counting):
    def after(self, batch: int) -> None:
        raise det.InvalidHP("this rate leads nowhere")


class Picky(Counting):
    """Of two ranks one cannot make it."""

    def __init__(self, context: TrialContext) -> None:
        super().__init__(context)
        if context.distributed.rank == 1:
            raise det.InvalidHP("not here")


class Failing(Counting):
    def after(self, batch: int) -> None:
        raise CheckFailedError("a rule was broken")


class Watched(Counting):
    """Writes for TensorBoard what only this rank knows; until six batches are trained, where it is
    to end then."""

    def after(self, batch: int) -> None:
        if batch > 6 and "ends" in self.context.get_hparams():
            raise CheckFailedError("it ends")
        folder = self.context.get_tensorboard_path()
        for name in ("events.out.tfevents.1", "worker.xplane.pb"):
            (folder / name).write_text(f"batch {batch} of rank {self.context.distributed.rank}")


class NoController(Trial):
    def __init__(self, context: TrialContext) -> None: ...


class NoTrial:
    pass


def build() -> None: ...
