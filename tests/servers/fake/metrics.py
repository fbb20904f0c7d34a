"""Metrics: stored by (group, step), merged or refused as the master's version does."""

import math

from .message import NUMBER_TEXTS, Message, as_time, is_number
from .refusal import internal, invalid
from .routes import V19, V33, V38, route
from .world import Row, now, time_text

PROFILER_GROUPS = {"gpu", "cpu", "memory", "disk", "network"}


@route("POST", "/api/v1/trials/{trial:int}/metrics", since=V33)
def report_metrics(world, call):
    message = Message(call.body)
    group = message.text("group")
    if not group:
        raise invalid("the group of the metrics is empty")
    if "." in group:
        raise invalid("the group of the metrics has a dot")
    trial = world.trial(call.path["trial"])
    return store(world, trial, group, message.part("metrics"))


@route("POST", "/api/v1/trials/{trial:int}/training_metrics")
@route("POST", "/api/v1/trials/{trial:int}/validation_metrics")
def report_metrics_by_path(world, call):
    trial = world.trial(call.path["trial"])
    return store(world, trial, call.segments[-1].removesuffix("_metrics"), Message(call.body))


@route("GET", "/api/v1/trials/metrics/trial_metrics", since=V33)
def list_reports(world, call):
    """As one part of the stream. No answer says of which group it is, and none has rows without
    steps, as those of the profiler are."""
    trial, group = world.trial(int(call.query["trialIds"])), call.query["group"]
    rows = [row for row in trial.rows
            if row.group == group and not row.is_archived and row.step is not None]
    rows.sort(key=lambda row: (row.run_id, row.step))
    return {"result": {"metrics": [
        {"trialId": trial.id, "trialRunId": row.run_id, "endTime": row.time, "archived": False,
         "totalBatches": row.step,
         "metrics": {"avg_metrics": row.values, "batch_metrics": row.batches}}
        for row in rows]}}


def _group_of_series(name):
    groups = {"cpu": "cpu", "gpu": "gpu", "disk": "disk", "net": "network", "memory": "memory"}
    return groups.get(name.split("_")[0])


@route("GET", "/api/v1/trials/{trial:int}/profiler/available_series")
def list_series(world, call):
    """Of the last row of each group and agent. Labels that are no GPU are named only where they are
    the place of a disk, and those are left out."""
    last = {}
    for row in world.trial(call.path["trial"]).rows:
        if row.group in PROFILER_GROUPS:
            last.update({(row.group, agent): values for agent, values in row.values.items()})
    labels = []
    for (group, agent), values in last.items():
        for name, value in values.items():
            inner = value if isinstance(value, dict) else {name: value}
            if isinstance(value, dict) and group == "disk":
                continue
            uuid = name if isinstance(value, dict) and group == "gpu" else ""
            labels += [{"name": of, "agentId": agent, "gpuUuid": uuid,
                        "metricType": "PROFILER_METRIC_TYPE_SYSTEM"} for of in inner]
    return {"result": {"labels": labels}}


@route("GET", "/api/v1/trials/{trial:int}/profiler/metrics")
def read_series(world, call):
    """As one part of the stream, which has one for each row."""
    name, agent, uuid = (call.query.get(f"labels.{key}", "") for key in ("name", "agentId", "gpuUuid"))
    values, times = [], []
    for row in world.trial(call.path["trial"]).rows:
        place = row.values.get(agent, {}) if row.group == _group_of_series(name) else {}
        place = place.get(uuid, {}) if uuid else place
        if name in place:
            values.append(place[name])
            times.append(row.time)
    return {"result": {"batch": {"values": values, "batches": [], "timestamps": times}}}


@route("GET", "/api/v1/trials/{trial:int}/workloads")
def list_workloads(world, call):
    rows = [row for row in world.trial(call.path["trial"]).rows
            if row.group in ("training", "validation") and not row.is_archived]
    offset, limit = int(call.query.get("offset", 0)), int(call.query.get("limit", 0)) or len(rows)
    part = rows[offset:offset + limit]
    return {"workloads": [
        {row.group: {"endTime": row.time, "totalBatches": row.step, "numInputs": 0,
                     "metrics": {"avgMetrics": row.values, "batchMetrics": row.batches or []}}}
        for row in part],
        "pagination": {"offset": offset, "limit": limit, "startIndex": offset,
                       "endIndex": offset + len(part), "total": len(rows)}}


def store(world, trial, group, message):
    step = message.integer("stepsCompleted")
    run_id = message.integer("trialRunId", 0)
    report_time = message.get("reportTime")
    if report_time is not None:
        as_time(report_time, "reportTime")
    report = {"group": group, "step": step, "run_id": run_id}
    try:
        if world.version == V19:  # its check comes first, also for an empty body
            _check_run(trial, run_id)
        metrics = message.part("metrics")
        values = metrics.object("avgMetrics")
        if values is None:
            raise internal("avgMetrics is not there")
        batches = metrics.list("batchMetrics")
        report.update(values=values, batches=batches)
        _check_values(world, trial, group, values)
        _check_run(trial, run_id)
        if step is None and group not in PROFILER_GROUPS:
            if world.version != V19:
                raise internal("stepsCompleted is missing (SQLSTATE 23502)")
            step = 0
        _archive(trial, group, step, run_id)
        row = Row(group, step, run_id, values, batches, report_time or time_text(now()))
        _add(world, trial, row)
    except Exception as error:
        trial.refused.append({**report, "error": str(error)})
        raise
    _search(world, trial, group, values)
    return {}


def _check_run(trial, run_id):
    if run_id != trial.run_id:
        raise internal(f"invalid run id: of run {run_id}, but the trial is in run {trial.run_id}")


def _check_values(world, trial, group, values):
    for name in ["epoch", "epochs"] if world.version >= V38 else ["epoch"]:
        if values.get(name) is not None and not is_number(values[name]):
            raise internal(f"cannot add metric with non numeric {name}")
    searched = values.get(trial.experiment.searcher.get("metric"))
    if group == "validation" and isinstance(searched, str) and searched not in NUMBER_TEXTS:
        raise internal("the searcher's metric must be a number (SQLSTATE 22P02)")


def _partition(group):
    return group if group in ("training", "validation") else "generic"


def _archive(trial, group, step, run_id):
    """What an earlier run reported beyond this step no longer counts."""
    if trial.run_id <= 1 or group in PROFILER_GROUPS:
        return
    for key, row in list(trial.current.items()):
        same = _partition(row.group) == _partition(group)
        if row.run_id < run_id and (row.step > step or (same and row.step == step)):
            row.is_archived = True
            del trial.current[key]


def _add(world, trial, new):
    key = (new.group, new.step)
    old = None if new.group in PROFILER_GROUPS else trial.current.get(key)
    if world.version == V19 and new.group == "training" and ("validation", new.step) in trial.current:
        # With a validation this master makes a row of training for the step, where there is none.
        old = old or trial.current["validation", new.step]
    if old is None:
        trial.rows.append(new)
        if new.group not in PROFILER_GROUPS:
            trial.current[key] = new
        return
    old.received += 1
    if world.version == V19:
        raise internal(f"duplicate key: the {new.group} metrics of step {new.step} (SQLSTATE 23505)")
    if new.batches and old.batches:
        raise internal(f"overwriting batch metrics of step {new.step}")
    for name, value in new.values.items():
        if name in old.values and old.values[name] != value:
            raise internal(f"overwriting existing metric keys: {name} at step {new.step}")
    old.values = {**old.values, **new.values}
    old.batches = old.batches or new.batches


def _search(world, trial, group, values):
    """From 0.38 on, the search is fed by validations, and fails unseen by the client."""
    searcher = trial.experiment.searcher
    if world.version < V38 or group != "validation" or not trial.is_managed:
        return
    if "asha" not in searcher.get("name", "") and searcher.get("name") != "async_halving":
        return
    unit = next(iter(searcher["max_length"])) if isinstance(searcher.get("max_length"), dict) \
        else searcher.get("time_metric", "batches")
    for name in (searcher.get("metric"), unit):
        if not is_number(values.get(name)) or not math.isfinite(values[name]):
            trial.experiment.error = f"a validation without a number for {name}"
            trial.experiment.state = "STATE_ERROR"


def validations(trial):
    """Of the searcher's metric: [(row, number)], not archived, in the order of their arrival."""
    name = trial.experiment.searcher.get("metric")
    found = []
    for row in trial.rows:
        value = row.values.get(name)
        if row.group == "validation" and not row.is_archived and value is not None:
            if is_number(value) or value in NUMBER_TEXTS:
                found.append((row, float(value)))
    return found


def best_validation(trials, smaller_is_better):
    """None, or (row, number): NaN loses to any number."""
    found = [pair for trial in trials for pair in validations(trial)]
    sign = 1 if smaller_is_better else -1
    return min(found, key=lambda pair: (math.isnan(pair[1]), sign * pair[1]), default=None)
