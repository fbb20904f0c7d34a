"""The original's own TFKerasTrial, for benchmarks beside ours: its package, unmodified, from the
package index, and its controller without a master.
"""

import os
import pathlib
import subprocess
import sys
import warnings

VERSION = "0.33.0"  # the last with TFKerasTrial and no other argument of its controller
FOLDER = pathlib.Path(__file__).resolve().parents[2] / f"build/determined-{VERSION}"


def import_original():
    """The module determined.keras of the original. Raises ImportError where it cannot be had."""
    if not FOLDER.exists():
        print(f"installing determined {VERSION} beside the environment, once", flush=True)
        unfinished = FOLDER.with_suffix(".unfinished")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--upgrade", "--target", unfinished, f"determined=={VERSION}"]
        if subprocess.run(command, check=False).returncode != 0:
            raise ImportError(f"determined {VERSION} was not installed: see pip's message above")
        unfinished.rename(FOLDER)
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # behind the environment's own NumPy
    warnings.simplefilter("ignore", FutureWarning)
    import determined.keras

    return determined.keras


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
    from determined import _DistributedBackend, core, keras, workload

    env = environment(config)
    with core._dummy_init(checkpoint_storage=os.getcwd()) as run:
        controller_class = trial_class.trial_controller_class
        controller_class.pre_execute_hook(env, _DistributedBackend())
        context = keras.TFKerasTrialContext(run, env)
        controller = controller_class.from_trial(
            trial_inst=trial_class(context),
            context=context,
            env=env,
            workloads=iter([(workload.train_workload(1, num_batches=batches), lambda _: None)]),
        )
        controller.run()
    return controller
