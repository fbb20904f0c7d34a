"""The names, arguments and defaults of the Core API are those of its reference."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from detcore import InvalidHP, TrialInfo, core

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
