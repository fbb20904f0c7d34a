#!/usr/bin/env python3
"""Copies recorded sequences of workloads into tests/data/trials: copy_traces.py FOLDER. What the
sequencer alone decides is kept, without the texts of messages."""

import json
import sys
from pathlib import Path

SOURCE = Path(sys.argv[1])
TARGET = Path(__file__).resolve().parent.parent / "data" / "trials"
CALLS = {"set_status", "report_training_metrics", "report_progress", "report_completed",
         "report_validation_metrics", "get_experiment_best_validation", "should_preempt", "report_early_exit"}


def configuration(trace, searcher):
    config = dict(trace["input"].get("config", {}))
    metric = "val_loss" if trace["layer"] == "keras" else "loss"
    section = {"metric": metric, "smaller_is_better": True} | config.pop("searcher", {})
    if searcher["unit"]:
        section["unit"] = searcher["unit"]
    config["searcher"] = {key: value for key, value in section.items() if value != "<absent>"}
    return {key: value for key, value in config.items() if value != "<absent>"}


def event(entry):
    kind, name = entry[0], entry[1] if len(entry) > 1 else ""
    if kind == "workload":
        about = entry[2]
        return ["workload", name, about["step_id"], about["num_batches"], about["total_batches_processed"]]
    if kind == "op":
        return ["operation", None if name == "end" else name]
    name = name.split(".")[-1] if kind == "core" else ""
    if name not in CALLS:
        return None
    if name.startswith("report_") and name.endswith("_metrics"):
        given = entry[2]
        return [name, given["steps_completed"], given["metrics"],
                *([given["batch_metrics"]] if name == "report_training_metrics" else [])]
    if name == "set_status":
        return [name, entry[2][0]]
    return [name, *entry[2:]] if name in ("report_progress", "report_completed") else [name]


def copied(trace):
    states = {}
    for phase in trace["phases"]:
        about = phase["phase"]
        searcher = about["searcher"]
        answers = {"T": [], "V": [], "C": []}
        for entry in phase["events"]:
            if entry[0] == "response":
                answers[entry[1]].append("invalid hparams" if "marker" in entry[2] else entry[2])
        script = {"config": configuration(trace, searcher), "global_batch_size": trace["input"]["hparams"]["global_batch_size"],
                  "trial_id": about.get("trial_id", 1), "operations": searcher["ops"], "answers": answers}
        for key, name in [("preempt_poll", "preempt_poll"), ("last_validation", "last_validation"), ("best_before", "bests")]:
            if key in searcher:
                script[name] = searcher[key]
        if "restore" in about:
            script["state"] = states[about["restore"]]
        states = {name: checkpoint["workload_sequencer.pkl"] for name, checkpoint in phase["checkpoints"].items()
                  if "workload_sequencer.pkl" in checkpoint}
        yield {"script": script, "failed": phase.get("error", {}).get("type"), "states": list(states.values()),
               "events": [made for entry in phase["events"] if (made := event(entry))]}


lines = []
for path in sorted([*SOURCE.glob("keras/k-seq-*.json"), *SOURCE.glob("estimator/e-seq*.json")]):
    trace = json.loads(path.read_text())
    lines += [json.dumps({"case": trace["case"]} | phase, separators=(",", ":")) for phase in copied(trace)]
TARGET.mkdir(parents=True, exist_ok=True)
(TARGET / "sequences.jsonl").write_text("\n".join(lines) + "\n")

lines = []
for path in sorted([*SOURCE.glob("keras/k-cb-es-*.json"), *SOURCE.glob("keras/k-cb-rl-*.json")]):
    trace = json.loads(path.read_text())
    (phase,) = trace["phases"]
    values = [entry[2]["metrics"]["validation_metrics"]["val_loss"] for entry in phase["events"]
              if entry[:2] == ["response", "V"]]
    states = [entry[3] | {"stop": entry[4]["stop_training"]} for entry in phase["events"] if entry[0] == "state"]
    given = trace["input"]["callbacks"][0]
    if states:
        lines.append(json.dumps({"case": trace["case"], "rule": given["kind"], "options": given["args"],
                                 "values": values, "states": states}, separators=(",", ":")))
(TARGET / "rules.jsonl").write_text("\n".join(lines) + "\n")
