"""Everything a master knows; touched only under `changed`, on which long polls wait."""

import dataclasses
import datetime
import itertools
import threading
import uuid

from .database import Database
from .refusal import missing

SETUP = {
    "trial_id": 7,
    "experiment_id": 1,
    "task_id": "1.aaaa",
    "allocation_id": "1.aaaa.1",
    "resources_ids": ["cccc"],  # one for each container of the allocation
    "run_id": 1,
    "config": {
        "name": "managed",
        "entrypoint": "train",
        "searcher": {"name": "single", "metric": "loss", "smaller_is_better": True,
                     "max_length": {"batches": 100}},
        "checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"},
    },
    "hparams": {},
    "lengths": [100],  # the searcher operations of masters that have them, one after the other
    "context": "",  # the directory of the experiment, as a tar.gz in base64
    "is_managed": True,
    "is_started": True,  # whether the containers have come up
    "database": {},  # how long it takes for a report of metrics; see database.py
    "users": {"admin": "", "determined": ""},  # name → password
}


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def time_text(time):
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclasses.dataclass
class Row:
    """The metrics of one group at one step."""

    group: str
    step: int
    run_id: int
    values: dict
    batches: list
    time: str
    received: int = 1  # also where the request was refused
    is_archived: bool = False


@dataclasses.dataclass
class Trial:
    id: int
    experiment: "Experiment"
    task_id: str
    hparams: dict
    is_managed: bool
    external_id: str = None
    run_id: int = 0
    state: str = "STATE_PAUSED"
    states: list = dataclasses.field(default_factory=list)  # as the client set them
    heartbeats: int = 0
    start_time: datetime.datetime = dataclasses.field(default_factory=now)
    end_time: datetime.datetime = None
    rows: list = dataclasses.field(default_factory=list)
    current: dict = dataclasses.field(default_factory=dict)  # (group, step) → row not archived
    refused: list = dataclasses.field(default_factory=list)  # metrics that could not be stored
    progress: list = dataclasses.field(default_factory=list)
    statuses: list = dataclasses.field(default_factory=list)
    early_exits: list = dataclasses.field(default_factory=list)
    metadata: dict = dataclasses.field(default_factory=dict)
    lengths: list = dataclasses.field(default_factory=list)
    completed: list = dataclasses.field(default_factory=list)  # operations, with their metric
    starts: int = 0  # of processes


@dataclasses.dataclass
class Experiment:
    id: int
    config: dict
    config_text: str
    is_managed: bool
    external_id: str = None
    state: str = "STATE_PAUSED"
    progress: float = None
    error: str = None  # why the search gave up
    is_active: bool = True  # managed: known to the running master
    start_time: datetime.datetime = dataclasses.field(default_factory=now)
    end_time: datetime.datetime = None
    trials: list = dataclasses.field(default_factory=list)
    job_id: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def searcher(self):
        return self.config.get("searcher") or {}


@dataclasses.dataclass
class Allocation:
    id: str
    task_id: str
    trial: Trial
    resources_ids: list
    is_started: bool
    is_preempted: bool = False
    late_polls: int = 0  # polls that did not wait, after the signal
    polls: int = 0
    acks: list = dataclasses.field(default_factory=list)
    asking: set = dataclasses.field(default_factory=set)  # resources ids in the rendezvous
    has_met: bool = False
    gathers: dict = dataclasses.field(default_factory=dict)  # request uuid → its wait
    notes: list = dataclasses.field(default_factory=list)  # of the container set-up


class World:
    def __init__(self, version, setup):
        setup = {**SETUP, **setup}
        self.version_text = version
        self.version = int(version.split(".")[1])
        self.changed = threading.Condition(threading.RLock())
        self.restarts = 0
        self.id = str(uuid.uuid4())
        self.cluster_id = str(uuid.uuid4())
        self.users = setup["users"]
        self.context = setup["context"]
        self.tokens = {"user-token": "determined"}
        self.task_tokens = {"task-token"}
        self.experiments, self.trials, self.allocations = {}, {}, {}
        self.checkpoints = {}
        self.storages = []
        self.database = Database(setup["database"])
        self.logs, self.alerts, self.requests, self.sources = [], [], [], []
        self._add_first(setup)
        self.experiment_ids = itertools.count(setup["experiment_id"] + 10)
        self.trial_ids = itertools.count(setup["trial_id"] + 15)

    def _add_first(self, setup):
        """The trial that is there from the beginning."""
        is_managed = setup["is_managed"]
        experiment = Experiment(setup["experiment_id"], setup["config"], "", is_managed,
                                state="STATE_RUNNING")
        trial = Trial(setup["trial_id"], experiment, setup["task_id"], setup["hparams"], is_managed,
                      run_id=setup["run_id"], state="STATE_RUNNING", lengths=list(setup["lengths"]))
        self.experiments[experiment.id] = experiment
        self.add_trial(trial)
        self.add_allocation(setup["allocation_id"], trial, setup["resources_ids"],
                            setup["is_started"])

    def add_trial(self, trial):
        self.trials[trial.id] = trial
        trial.experiment.trials.append(trial)

    def add_allocation(self, name, trial, resources_ids, is_started=True):
        self.allocations[name] = Allocation(name, trial.task_id, trial, resources_ids, is_started)

    def trial(self, trial_id):
        if trial_id not in self.trials:
            raise missing("trial", trial_id)
        return self.trials[trial_id]

    def experiment(self, experiment_id):
        if experiment_id not in self.experiments:
            raise missing("experiment", experiment_id)
        return self.experiments[experiment_id]

    def active_trial(self, trial_id):
        """One whose search runs in the master."""
        trial = self.trial(trial_id)
        if not trial.is_managed or not trial.experiment.is_active:
            raise missing("experiment", trial.experiment.id)
        return trial

    def task_trial(self, task_id):
        for trial in self.trials.values():
            if trial.task_id == task_id:
                return trial
        raise missing("task", task_id)
