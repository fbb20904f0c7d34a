"""The names, arguments and defaults of the Core API are those of its reference.

Of other modules of determined, scripts find the arguments by their names.
"""

from __future__ import annotations

import inspect
import os
import uuid
from typing import Any

import pytest
from detcore import InvalidHP, TrialInfo, core, search
from detcore.compat import _client
from detcore.compat import _errors as errors
from detcore.errors import UnsupportedError

client: Any = _client

NONE, NEEDED = None, inspect.Parameter.empty
RANKS = ["rank", "size", "local_rank", "local_size", "cross_rank", "cross_size"]
# A star stands before what is given by name alone, as there; what we add is given by name, too.
REFERENCE: dict[str, list[Any]] = {
    "init": [
        "*",
        ("distributed", NONE),
        ("checkpoint_storage", NONE),
        ("preempt_mode", core.PreemptMode.WorkersAskChief),
        ("tensorboard_mode", core.TensorboardMode.AUTO),
    ],
    "DistributedContext.from_horovod": [("hvd", NEEDED), ("chief_ip", NONE)],
    "DistributedContext.from_deepspeed": [("chief_ip", NONE)],
    "DistributedContext.from_torch_distributed": [("chief_ip", NONE)],
    "DistributedContext.get_rank": [],
    "DistributedContext.get_local_rank": [],
    "DistributedContext.get_size": [],
    "DistributedContext.get_num_agents": [],
    "DistributedContext.gather": [("stuff", NEEDED)],
    "DistributedContext.gather_local": [("stuff", NEEDED)],
    "DistributedContext.allgather": [("stuff", NEEDED)],
    "DistributedContext.allgather_local": [("stuff", NEEDED)],
    "DistributedContext.broadcast": [("stuff", NEEDED)],
    "DistributedContext.broadcast_local": [("stuff", NONE)],
    "CheckpointContext.upload": [
        ("ckpt_dir", NEEDED),
        ("metadata", NONE),
        "*",
        ("shard", False),
        ("selector", NONE),
    ],
    "CheckpointContext.download": [
        ("storage_id", NEEDED),
        ("ckpt_dir", NEEDED),
        ("download_mode", core.DownloadMode.LocalWorkersShareDownload),
        "*",
        ("selector", NONE),
    ],
    "CheckpointContext.get_metadata": [("storage_id", NEEDED)],
    "CheckpointContext.store_path": [("metadata", NONE), "*", ("shard", False)],
    "CheckpointContext.restore_path": [
        ("storage_id", NEEDED),
        ("download_mode", core.DownloadMode.LocalWorkersShareDownload),
        "*",
        ("selector", NONE),
    ],
    "CheckpointContext.delete": [("storage_id", NEEDED)],
    "PreemptContext.should_preempt": [("auto_ack", True)],
    "PreemptContext.acknowledge_preemption_signal": [],
    "TrainContext.set_status": [("status", NEEDED)],
    "TrainContext.report_training_metrics": [
        ("steps_completed", NEEDED),
        ("metrics", NEEDED),
        ("batch_metrics", NONE),
    ],
    "TrainContext.report_validation_metrics": [("steps_completed", NEEDED), ("metrics", NEEDED)],
    "TrainContext.report_metrics": [
        ("group", NEEDED),
        ("steps_completed", NEEDED),
        ("metrics", NEEDED),
    ],
    "TrainContext.get_tensorboard_path": [],
    "TrainContext.upload_tensorboard_files": ["selector", "mangler"],  # functions by default
    "TrainContext.report_early_exit": [("reason", NEEDED)],
    "TrainContext.get_experiment_best_validation": [],
    "SearcherContext.operations": [
        ("searcher_mode", core.SearcherMode.WorkersAskChief),
        ("auto_ack", True),
    ],
    "SearcherContext.acknowledge_out_of_ops": [],
    "SearcherContext.get_configured_units": [],
    "SearcherOperation.report_progress": [("length", NEEDED)],
    "SearcherOperation.report_completed": [("searcher_metric", NEEDED)],
    "ProfilerContext.on": [("sampling_interval", 1), ("samples_per_report", 10)],
    "ProfilerContext.off": [],
}


@pytest.mark.parametrize("name", REFERENCE)
def test_arguments_and_defaults(name: str) -> None:
    function: Any = core
    for part in name.split("."):
        function = getattr(function, part)
    ours = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    expected = REFERENCE[name]
    positional = expected.index("*") if "*" in expected else len(expected)
    expected = [each for each in expected if each != "*"]
    assert len(ours) >= len(expected)
    for place, parameter in enumerate(ours):
        if place >= len(expected):  # ours
            assert parameter.default is not NEEDED
        elif isinstance(expected[place], str):
            assert parameter.name == expected[place] and parameter.default is not NEEDED
        else:
            assert (parameter.name, parameter.default) == expected[place]
        if place < len(expected):
            assert (parameter.kind is parameter.KEYWORD_ONLY) == (place >= positional)


def test_the_constructor_of_distributed_context() -> None:
    parameters = inspect.signature(core.DistributedContext).parameters
    assert list(parameters)[:6] == RANKS
    assert {name: parameters[name].default for name in list(parameters)[6:11]} == {
        "chief_ip": None,
        "pub_port": 12360,
        "pull_port": 12376,
        "port_offset": 0,
        "force_tcp": False,
    }
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())


def test_values_of_enumerations() -> None:
    def values(enumeration: Any) -> dict[str, str]:
        return {each.name: each.value for each in enumeration}

    assert values(core.PreemptMode) == {
        "WorkersAskChief": "WORKERS_ASK_CHIEF",
        "ChiefOnly": "CHIEF_ONLY",
        "WorkersAskMaster": "WORKERS_ASK_MASTER",
    }
    assert values(core.DownloadMode) == {
        "LocalWorkersShareDownload": "LOCAL_WORKERS_SHARE_DOWNLOAD",
        "NoSharedDownload": "NO_SHARED_DOWNLOAD",
    }
    assert values(core.TensorboardMode) == {"AUTO": "AUTO", "MANUAL": "MANUAL"}
    assert values(core.EarlyExitReason) == {
        "INVALID_HP": "EXITED_REASON_INVALID_HP",
        "USER_REQUESTED_STOP": "EXITED_REASON_USER_REQUESTED_STOP",
    }
    assert {each.name for each in core.SearcherMode} == {"WorkersAskChief", "ChiefOnly"}


def test_what_is_public() -> None:
    assert set(core.__all__) >= {name.partition(".")[0] for name in REFERENCE}
    assert all(hasattr(core, name) for name in core.__all__)
    assert issubclass(InvalidHP, Exception)
    assert list(inspect.signature(TrialInfo).parameters) == [
        *("trial_id", "experiment_id", "trial_seed", "hparams", "config", "steps_completed"),
        *("trial_run_id", "debug", "inter_node_network_interface"),
    ]


# Of releases 0.19 to 0.38; a star stands for what may only be given by its name.
CREATE = "config model_dir includes project_id template"
LIST = "sort_by order_by experiment_ids labels users states name project_id"
LOGIN = "master user password cert_path cert_name noverify"
ORDER, BEST = "sort_by order_by", "sort_by smaller_is_better"
LINES = "container_ids rank_ids stdtypes min_level timestamp_before timestamp_after"
NAMES: list[tuple[Any, str]] = [
    (search.Create, "request_id hparams checkpoint"),
    (search.ValidateAfter, "request_id length"),
    (search.Close, "request_id"),
    (search.Progress, "progress"),
    (search.Shutdown, "cancel failure"),
    (search.SearchMethod.initial_operations, "searcher_state"),
    (search.SearchMethod.on_trial_created, "searcher_state request_id"),
    (
        search.SearchMethod.on_validation_completed,
        "searcher_state request_id metric train_length",
    ),
    (search.SearchMethod.on_trial_closed, "searcher_state request_id"),
    (search.SearchMethod.on_trial_exited_early, "searcher_state request_id exited_reason"),
    (search.SearchMethod.progress, "searcher_state"),
    (search.SearchMethod.save_method_state, "path"),
    (search.SearchMethod.load_method_state, "path"),
    (search.SearcherState.to_dict, ""),
    (search.SearcherState.from_dict, "d"),
    (search.LocalSearchRunner, "search_method searcher_dir * session"),
    (search.LocalSearchRunner.run, "exp_config model_dir * includes"),
    (client.login, LOGIN),
    (client.Determined, LOGIN),
    (client.create_experiment, CREATE),
    (client.Determined.create_experiment, CREATE),
    (client.list_experiments, LIST),
    (client.Determined.list_experiments, LIST),
    (client.Determined.get_session_username, ""),
    (client.get_experiment, "experiment_id"),
    (client.get_trial, "trial_id"),
    (client.get_checkpoint, "uuid"),
    (client.Checkpoint.download, "path mode"),
    (client.Checkpoint.write_metadata_file, "path"),
    (client.Experiment.set_name, "name"),
    (client.Experiment.set_notes, "notes"),
    (client.Experiment.add_label, "label"),
    (client.Experiment.remove_label, "label"),
    (client.Experiment.set_labels, "labels"),
    (client.Experiment.list_trials, ORDER),
    (client.Experiment.get_trials, ORDER),
    (client.Experiment.await_first_trial, "interval"),
    (client.Experiment.wait, "interval"),
    (client.Experiment.list_checkpoints, ORDER + " max_results"),
    (client.Experiment.top_checkpoint, BEST),
    (client.Experiment.top_n_checkpoints, "limit " + BEST),
    (client.Trial.list_checkpoints, ORDER + " max_results"),
    (client.Trial.top_checkpoint, BEST),
    (client.Trial.iter_logs, f"follow * head tail {LINES} sources search_text"),
    (client.Trial.iter_metrics, "group"),
    (errors.InvalidDataTypeException, "typ message"),
]


def assert_names(function: Any, names: str) -> None:
    """These are its first arguments, and what follows has a default."""
    ours = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    positional, _, by_name = names.partition("*")
    expected = positional.split()
    assert [each.name for each in ours[: len(expected)]] == expected
    assert set(by_name.split()) <= {each.name for each in ours}
    rest = [each for each in ours[len(expected) :] if each.kind is not each.VAR_KEYWORD]
    assert all(each.default is not NEEDED for each in rest)


@pytest.mark.parametrize(("function", "names"), NAMES, ids=lambda value: str(value))
def test_arguments_have_the_names_that_scripts_use(function: Any, names: str) -> None:
    assert_names(function, names)


def test_names_of_older_releases() -> None:
    assert client.ExperimentReference is client.Experiment
    assert client.TrialReference is client.Trial
    assert client.TrialOrderBy.ASCENDING is client.OrderBy.ASC
    assert client.TrialOrderBy.DESCENDING is client.OrderBy.DESC


def test_what_nothing_here_could_do_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedError, match="no search starts a trial from a checkpoint"):
        search.Create(uuid.uuid4(), {}, checkpoint="1234")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=r"create_experiment\(\): includes is \['a'\]"):
        client.create_experiment({}, includes=["a"])
    with pytest.raises(UnsupportedError, match=r"list_experiments\(\): project_id is 3"):
        client.list_experiments(project_id=3)
    monkeypatch.setenv("DET_MASTER_CERT_NAME", "")
    assert client._certificate("a.pem", "another", False) == "a.pem"
    assert os.environ["DET_MASTER_CERT_NAME"] == "another"
    assert client._certificate(None, None, True) == "noverify"
