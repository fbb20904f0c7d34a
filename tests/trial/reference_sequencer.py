"""What a workload sequencer does, written down as a program that runs from start to end. It takes the
cases of run_sequencer.cc and gives their events; it shares nothing with the library."""

import math


class Exit(Exception):
    def __init__(self, with_checkpoint=True):
        self.with_checkpoint = with_checkpoint


class Reference:
    def __init__(self, script):
        self.script, self.config, self.events = script, script["config"], []
        self.batch_size = script["global_batch_size"]
        self.saved = self.steps = self.step_id = self.validated = 0
        self.polls, self.bests, self.answers = 0, list(script.get("bests", [])), {"T": 0, "V": 0, "C": 0}
        searcher = self.config["searcher"]
        self.unit = searcher.get("unit") or "epochs"
        if "unit" not in searcher:
            self.note("warn")
        self.smaller = searcher.get("smaller_is_better", True)
        self.validation_period = self.period("min_validation_period")
        self.checkpoint_period = self.period("min_checkpoint_period")
        state = script.get("state")
        if state and state["trial_id"] == script["trial_id"]:
            self.saved, self.steps, self.step_id = state["last_ckpt"], state["steps_completed"], state["step_id"]
            self.validated = self.steps if script.get("last_validation") == self.steps else state["last_val"]

    def batches(self, unit, length):
        if unit == "batches":
            return length
        records = length if unit == "records" else length * self.config["records_per_epoch"]
        return max(records // self.batch_size, 1)

    def period(self, key):
        given = self.config.get(key) or {"batches": 0}
        ((unit, length),) = given.items()
        batches = self.batches(unit, length)
        return batches if batches >= 1 else math.inf

    def note(self, *event):
        self.events.append(list(event))

    def poll(self):
        self.note("should_preempt")
        self.polls += 1
        if self.script.get("preempt_poll") is not None and self.polls >= self.script["preempt_poll"]:
            raise Exit

    def do(self, kind, status, batches=0):
        self.note("set_status", status)
        if kind == "C":
            self.saved = self.steps
        self.note("workload", kind, self.step_id + (kind == "T"), batches, self.steps)
        if kind == "C":
            self.note("state", {"trial_id": self.script["trial_id"], "last_ckpt": self.saved,
                                "steps_completed": self.steps, "step_id": self.step_id, "last_val": self.validated})
        answers = self.script["answers"][kind]
        response = answers[min(self.answers[kind], len(answers) - 1)]
        self.answers[kind] += 1
        if response == "invalid hparams":
            self.note("report_early_exit")
            raise Exit(with_checkpoint=kind == "V")
        return response

    def train(self, batches, end):
        response = self.do("T", "training", batches)
        self.steps += batches
        self.step_id += 1
        metrics = response["metrics"]
        self.note("report_training_metrics", self.steps, metrics["avg_metrics"], metrics.get("batch_metrics"))
        done = {"batches": self.steps, "records": self.steps * self.batch_size}.get(self.unit)
        self.note("report_progress", self.steps / self.batches("epochs", 1) if done is None else done)
        if response.get("stop_requested"):
            raise Exit
        self.poll()

    def validate(self, end):
        response = self.do("V", "validating")
        metrics = response["metrics"]["validation_metrics"]
        metric = metrics[self.config["searcher"]["metric"]]
        if end is not None and self.steps >= end:
            self.note("report_completed", metric)
            self.completed = True
        policy, current = self.config.get("checkpoint_policy", "best"), self.saved == self.steps
        worth = policy == "all"
        if policy == "best" and not current:
            self.note("get_experiment_best_validation")
            best = self.bests.pop(0) if self.bests else None
            worth = best is None or (metric < best if self.smaller else metric > best)
        self.validated = self.steps
        self.note("report_validation_metrics", self.steps, metrics)
        if response.get("stop_requested"):
            raise Exit
        if worth and not current:
            self.save()
        self.poll()

    def save(self):
        if self.do("C", "checkpointing").get("stop_requested"):
            raise Exit
        self.poll()

    def run(self):
        try:
            self.run_operations()
        except Exit as leaving:
            if leaving.with_checkpoint and self.saved != self.steps:
                try:
                    self.do("C", "checkpointing")
                except Exit:
                    pass
        return self.events

    def run_operations(self):
        known = self.script.get("last_validation") is not None
        if self.config.get("perform_initial_validation") and not known and self.steps == 0:
            self.validate(None)
        for length in self.script["operations"]:
            self.note("operation", length)
            self.completed = False
            end = self.batches(self.unit, length)
            while end > self.steps:
                self.train(max(1, min(self.saved + self.checkpoint_period - self.steps,
                                      self.validated + self.validation_period - self.steps,
                                      end - self.steps, self.config.get("scheduling_unit", 100))), end)
                if self.validated + self.validation_period - self.steps < 1:
                    self.validate(end)
                if self.saved + self.checkpoint_period - self.steps < 1:
                    self.save()
            if self.saved != self.steps:
                self.save()
            if self.validated != self.steps:
                self.validate(end)
            if not self.completed:
                return
        self.note("operation", None)
