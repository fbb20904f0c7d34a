#!/usr/bin/env python3
"""`det` in the place of Python in the containers of a cluster (DET_PYTHON_EXECUTABLE)."""
import base64
import io
import json
import os
import subprocess
import sys
import tarfile

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from harness import DET, Store, main, test  # noqa: E402
from servers import Server  # noqa: E402

IDS = [f"0000000{n}-aaaa-bbbb-cccc-dddddddddddd" for n in range(1, 4)]
VERSIONS = ["0.19.10", "0.33.0", "0.38.1"]


class Container(Store):
    """What a cluster has put around a task, with two checkpoints to collect and one to keep."""

    def __init__(self, version, task_type):
        super().__init__()
        self.master = Server("master", "--version", version)
        self.storage = os.path.join(self.home, "shared")
        for name in IDS:
            os.makedirs(os.path.join(self.storage, name))
            for file in ("model.bin", "metadata.json"):
                with open(os.path.join(self.storage, name, file), "w") as out:
                    out.write("x")
            status, _ = self.master.call("POST", "/api/v1/checkpoints", {
                "uuid": name, "taskId": "1.aaaa", "state": "STATE_COMPLETED",
                "resources": {"model.bin": "1", "metadata.json": "1"},
                "metadata": {"steps_completed": 1}})
            assert status == 200
        del self.env["DET_HOME"]
        self.env.update(
            DET_MASTER=f"http://127.0.0.1:{self.master.ports[0]}", DET_CLUSTER_ID="cluster",
            DET_AGENT_ID="agent", DET_SLOT_IDS="[]", DET_TASK_ID="1.gggg",
            DET_ALLOCATION_ID="1.gggg.1", DET_TASK_TYPE=task_type, DET_SESSION_TOKEN="task-token",
            DET_INFO_DIR=self.home + "/none",
            DET_RETRY_CONFIG='{"total": 3, "backoff_factor": 0.01}')

    def file(self, name, value):
        path = os.path.join(self.home, name)
        with open(path, "w") as out:
            json.dump(value, out)
        return path

    def det(self, *arguments, expect=0):
        done = subprocess.run([DET, *arguments], env=self.env, capture_output=True, text=True)
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr

    def collect(self, *more, globs=("**/*",), delete=None, expect=0):
        return self.det(
            "/run/determined/ship_logs.py", "/run/determined/checkpoint_gc/entrypoint.sh",
            "--experiment-id", "1", "--storage-config",
            self.file("storage.json", {"type": "shared_fs", "host_path": self.storage,
                                       "save_trial_latest": 1, "propagation": "rprivate"}),
            "--delete", delete or self.file("delete.json", IDS[:2]),
            "--globs", self.file("globs.json", list(globs)), *more, expect=expect)

    def states(self):
        return [found["state"] for found in self.master.control("GET", "state")["checkpoints"]]

    def stored(self):
        return sorted(name for name in os.listdir(self.storage) if name in IDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.master.stop()
        self.clean()


@test
def collection_deletes_and_tells_what_is_left():
    for version in VERSIONS:
        with Container(version, "CHECKPOINT_GC") as container:
            container.collect()
            assert container.stored() == IDS[2:], container.stored()
            told = ["STATE_DELETED"] * 2 if version != "0.19.10" else ["STATE_COMPLETED"] * 2
            assert container.states() == told + ["STATE_COMPLETED"], container.states()
            state = container.master.control("GET", "state")
            assert len(state["experiments"]) == 1 and len(state["trials"]) == 1


@test
def collection_by_module_is_the_same():
    with Container("0.33.0", "CHECKPOINT_GC") as container:
        container.det("-m", "determined.exec.prep_container")
        assert container.stored() == IDS
        container.det("-m", "determined.exec.gc_checkpoints", "--experiment-id", "1",
                      "--storage-config=" + json.dumps({"type": "directory",
                                                        "container_path": container.storage}),
                      "--delete", ",".join(IDS[:2]))
        assert container.stored() == IDS[2:]


@test
def part_of_a_checkpoint_may_go():
    with Container("0.38.1", "CHECKPOINT_GC") as container:
        container.collect(globs=["*.bin"])
        assert container.stored() == IDS
        assert os.listdir(os.path.join(container.storage, IDS[0])) == ["metadata.json"]
        assert container.states() == ["STATE_PARTIALLY_DELETED"] * 2 + ["STATE_COMPLETED"]


@test
def tensorboard_files_go_where_the_master_says_so():
    with Container("0.38.1", "CHECKPOINT_GC") as container:
        events = os.path.join(container.storage, "cluster", "tensorboard", "experiment", "1", "trial")
        other = os.path.join(container.storage, "cluster", "tensorboard", "experiment", "2")
        os.makedirs(events)
        os.makedirs(other)
        container.collect()
        assert os.path.isdir(events)
        container.collect("--delete-tensorboards")
        assert not os.path.exists(os.path.dirname(events)) and os.path.isdir(other)


@test
def what_cannot_be_deleted_stops_nothing_else():
    with Container("0.38.1", "CHECKPOINT_GC") as container:
        names = container.file("names.json", ["../../etc", IDS[0]])
        _, said = container.collect(delete=names, expect=1)
        assert "../../etc" in said, said
        assert container.stored() == IDS[1:]
        assert container.states()[0] == "STATE_DELETED"


@test
def trial_runs_its_entrypoint():
    with Container("0.38.1", "TRIAL") as container:
        config = {"entrypoint": f"echo from the entrypoint; exit 7"}
        container.env.update(
            DET_TRIAL_ID="7", DET_EXPERIMENT_ID="1", DET_TRIAL_SEED="1", DET_TRIAL_RUN_ID="1",
            DET_STEPS_COMPLETED="0", DET_HPARAMS="{}", DET_EXPERIMENT_CONFIG=json.dumps(config))
        container.env.update(DET_TASK_ID="1.aaaa", DET_ALLOCATION_ID="1.aaaa.1",
                             DET_RUN_DIR=container.home)
        said, _ = container.det("-m", "determined.exec.prep_container", "--rendezvous")
        assert said == ""
        said, _ = container.det("/run/determined/ship_logs.py", "/run/determined/train/entrypoint.sh",
                                expect=7)
        assert said == "from the entrypoint\n", said


@test
def trial_finds_the_directory_that_its_experiment_was_submitted_with():
    def archive(*names):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = 5
                tar.addfile(member, io.BytesIO(b"hello"))
        return base64.b64encode(packed.getvalue()).decode()

    for version in VERSIONS:
        with Container(version, "TRIAL") as container:
            work = os.path.join(container.home, "work")
            os.makedirs(work)
            container.env.update(
                DET_TASK_ID="1.aaaa", DET_ALLOCATION_ID="1.aaaa.1",
                DET_RUN_DIR=container.home, DET_TRIAL_ID="7",
                DET_EXPERIMENT_ID="1", DET_TRIAL_SEED="1", DET_TRIAL_RUN_ID="1",
                DET_STEPS_COMPLETED="0", DET_HPARAMS="{}",
                DET_EXPERIMENT_CONFIG=json.dumps({"entrypoint": "cat pkg/model_def.py"}))

            def start(*names):
                container.master.control("POST", "setup", {"version": version,
                                                           "context": archive(*names)})
                return subprocess.run(
                    [os.path.abspath(DET), "/run/determined/ship_logs.py",
                     "/run/determined/train/entrypoint.sh"],
                    env=container.env, cwd=work, capture_output=True, text=True)

            done = start("pkg/model_def.py")
            assert (done.returncode, done.stdout) == (0, "hello"), done
            assert os.path.exists(os.path.join(container.home, "train/model/pkg/model_def.py"))
            start("../outside")
            assert not os.path.exists(os.path.join(container.home, "outside"))
            assert not os.path.exists(os.path.join(container.home, "train", "outside"))
            container.master.control("POST", "setup", {"version": version, "context": "AAAA"})
            done = subprocess.run([os.path.abspath(DET), "ship_logs.py", "entrypoint.sh"], env=container.env,
                                  cwd=work, capture_output=True, text=True)
            assert done.returncode != 0 and "tar left with" in done.stderr, done


@test
def other_tasks_are_refused():
    with Container("0.38.1", "NOTEBOOK") as container:
        _, said = container.det("-m", "determined.exec.launch", expect=7)
        assert "NOTEBOOK" in said and "DET_PYTHON_EXECUTABLE" in said, said


@test
def outside_of_a_cluster_they_are_arguments_as_any():
    with Container("0.38.1", "TRIAL") as container:
        del container.env["DET_ALLOCATION_ID"]
        container.det("/run/determined/ship_logs.py", "entrypoint.sh", expect=2)


@test
def commands_in_a_task_are_commands():
    with Container("0.38.1", "SHELL") as container:
        said, _ = container.det("-m", container.env["DET_MASTER"], "version")
        assert said.startswith("det "), said


main({})
