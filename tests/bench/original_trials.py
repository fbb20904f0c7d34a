"""The original's own trials, for benchmarks beside ours: its package, unmodified, from the package
index, and its controllers without a master.
"""

import importlib
import os
import pathlib
import subprocess
import sys
import warnings

# The last ones that have them, with controllers of one kind.
KERAS, ESTIMATOR = ("0.33.0", "keras"), ("0.24.0", "estimator")


def folder_of(version):
    return pathlib.Path(__file__).resolve().parents[2] / f"build/determined-{version}"


def install(version):
    folder = folder_of(version)
    if folder.exists():
        return
    print(f"installing determined {version} beside the environment, once", flush=True)
    unfinished = folder.with_suffix(".unfinished")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--upgrade", "--target", unfinished, f"determined=={version}"]
    if subprocess.run(command, check=False).returncode != 0:
        raise ImportError(f"determined {version} was not installed: see pip's message above")
    unfinished.rename(folder)


def import_original(version, layer):
    """Its module of this layer, of one version in a process. Raises ImportError where it cannot be
    had."""
    install(version)
    sys.path.append(str(folder_of(version)))  # behind the environment's own NumPy
    warnings.simplefilter("ignore", FutureWarning)
    # Where TensorFlow 2.15 has what releases of the time had elsewhere.
    tracking = "tensorflow.python.training.tracking"
    trackable = importlib.import_module("tensorflow.python.trackable")
    sys.modules[tracking] = trackable
    sys.modules[f"{tracking}.tracking"] = importlib.import_module(
        "tensorflow.python.trackable.autotrackable"
    )
    return importlib.import_module(f"determined.{layer}")


def environment(config):
    import determined

    about = dict.fromkeys(("master_cert_file", "master_cert_name", "latest_checkpoint"))
    about |= dict.fromkeys(("det_trial_id", "det_experiment_id", "det_agent_id"), "1")
    about |= dict.fromkeys(("det_cluster_id", "allocation_id", "master_url"), "none")
    about |= dict.fromkeys(("use_gpu", "debug", "test_mode", "on_cluster"), False)
    about |= dict.fromkeys(("steps_completed", "trial_run_id"), 0)
    filled = {
        "resources": {"slots_per_trial": 1, "native_parallel": False},
        "optimizations": {"aggregation_frequency": 1, "average_training_metrics": True},
        **config,
    }
    return determined.EnvContext(
        experiment_config=filled,
        hparams=config["hyperparameters"],
        container_gpus=[],
        slot_ids=[],
        trial_seed=1,
        managed_training=True,
        **about,
    )


def trained(trial_class, config, batches):
    """Its controller, behind one workload of so many batches."""
    from determined import _DistributedBackend, core, workload

    env = environment(config)
    with core._dummy_init(checkpoint_storage=os.getcwd()) as run:
        controller_class = trial_class.trial_controller_class
        controller_class.pre_execute_hook(env, _DistributedBackend())
        context = trial_class.trial_context_class(run, env)
        controller = controller_class.from_trial(
            trial_inst=trial_class(context),
            context=context,
            env=env,
            workloads=iter([(workload.train_workload(1, num_batches=batches), lambda _: None)]),
        )
        controller.run()
    return controller
