"""Lives of a trial (trial.c) in which something goes wrong, and what must be left of them."""

import collections
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import masters
from patience import PATIENCE

ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# The lock of a user, and locks in the making, which are removed when they are old.
MAY_STAY = re.compile(rf"\.take-over-[0-9]+|\.{ID}")


@dataclasses.dataclass
class Life:
    """What became of one."""
    fault: str
    words: list  # what it said of failures
    wrong: list  # what must not be
    seconds: float
    hit: str = ""  # the call that the fault hit; "": none


class Place:
    """A folder for one life: where the master is, and where its checkpoints go."""

    def __init__(self, url=None):
        self.folder = tempfile.mkdtemp(prefix="detcore-faults-")
        self.home = self.path("home")
        os.mkdir(self.home)
        self.master = url or self.home
        self.storage = self.path("checkpoints")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        self.environment |= {"DET_EXTERNAL_ID": os.path.basename(self.folder),
                             "DET_HOME": self.home, "XDG_CONFIG_HOME": self.home}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, limit, *command):
        """(exit status, output, what it said); the status is None for one that is stuck."""
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, text=True, errors="replace")
        try:
            out, said = process.communicate(timeout=limit)
            return process.returncode, out, said.splitlines()
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, said = process.communicate()
            return None, out, said.splitlines()

    def without_names(self, line):
        """So that the same of two lives is told in the same words."""
        return re.sub(ID, "ID", line.replace(self.folder, ""))


class Programs:
    """`limit`: seconds, after which a process counts as stuck; `url`: of a master, else a store."""

    def __init__(self, folder, limit=PATIENCE, url=None):
        self.inject = os.path.join(folder, "inject")
        self.trial = os.path.join(folder, "faults_trial")
        self.limit, self.url = limit, url

    def calls(self):
        """Name of a call → errors it can give."""
        text = subprocess.run([self.inject, "--calls"], check=True, capture_output=True, text=True)
        return {name: errors for name, *errors in map(str.split, text.stdout.splitlines())}

    def can_inject(self):
        return subprocess.run([self.inject, "--", "true"], capture_output=True).returncode == 0

    def run(self, place, fault=None):
        """A life; `fault` as inject takes it."""
        return place.run(self.limit, self.inject, "-m", "-o", place.path("report"),
                         *([fault] if fault else []), "--", self.trial, "live", place.master,
                         place.storage, place.path("ledger"))

    def count(self):
        """Call → how often it is made in a life without faults."""
        with Place(self.url) as place:
            status, _, said = self.run(place)
            assert status == 0, said
            return {name: int(count) for name, count in read_report(place)}

    def live(self, fault):
        """One life with `fault`, and a look at what is left."""
        begun = time.monotonic()
        with Place(self.url) as place:
            words, wrong = judge_end(fault, *self.run(place, fault))
            wrong += self.look(place, read_ledger(place))
            hits = [rest for name, rest in read_report(place) if name == "hit"]
            words, wrong, hits = (list(map(place.without_names, lines))
                                  for lines in (words, wrong, hits))
            return Life(fault, words, wrong, time.monotonic() - begun, hits[0] if hits else "")


    def look(self, place, noted):
        """A clean next start, and what is wrong with what it finds."""
        of_master = masters.kept(self.url, place) if self.url else {}
        listed = of_master.get("checkpoints", {"checkpoints": []})["checkpoints"]
        ids = [entry["uuid"] for entry in listed if entry["state"] == "COMPLETED"]
        status, out, said = place.run(self.limit, self.trial, "look", place.master, place.storage,
                                      *ids)
        # It begins a trial that is complete, and is told so.
        said = [line for line in said if "it has completed its length" not in line]
        if status != 0 or said:
            return [f"the next start: {name_of_end(status)}: {' | '.join(said)}"]
        return judge(place, noted, dict(read_lines(out)) | (masters.kept(self.url, place)
                                                            if self.url else {}))


def read_report(place):
    try:
        with open(place.path("report"), encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n").split(" ", 1) for line in file]
    except FileNotFoundError:
        return []


def read_lines(text):
    for line in text.splitlines():
        what, value = line.split(" ", 1)
        yield what, json.loads(value)


def read_ledger(place):
    """("training", "3") → "called", "done" or "refused"; see ledger.h."""
    noted = {}
    if os.path.exists(place.path("ledger")):
        with open(place.path("ledger"), "rb") as file:
            for line in file.read().rstrip(b"\0").decode().splitlines():
                what, which, how = line.split(" ")
                noted[what, which] = how
    return noted


def name_of_end(status):
    if status is None:
        return "stuck"
    return signal.Signals(-status).name if status < 0 else f"exit {status}"


def judge_end(fault, status, _, said):
    """What a life said of its failures, and what is wrong with how it ended."""
    words = [line.removeprefix("trial: ") for line in said if line.startswith("trial: ")]
    wrong = [line for line in said if line.startswith("wrong: ")]
    killed = ":KILL:" in fault and status == -signal.SIGKILL
    if status not in (0, 1) and not killed:
        wrong.append(f"{name_of_end(status)}: {' | '.join(said[-3:])}")
    if status == 1 and not words:
        wrong.append("it failed without a word")
    return words, wrong


def judge(place, noted, kept):
    """What is wrong with what the next start found, given what a life had been answered."""
    return [*judge_reports(noted, kept), *judge_checkpoints(noted, kept), *judge_trial(noted, kept),
            *judge_files(place, kept)]


def judge_reports(noted, kept):
    stored = collections.Counter()
    for entry in kept["metrics"]["metrics"]:
        stored[entry["group"], str(entry["steps_completed"])] += 1
        if entry["metrics"] != {"value": entry["steps_completed"]}:
            yield f"a report changed: {entry}"
    for entry in kept["logs"]["logs"]:
        if entry["text"].startswith("step "):
            stored["log", entry["text"].removeprefix("step ")] += 1
    for what in noted.keys() | stored.keys():
        if what[0] not in ("training", "validation", "log"):
            continue
        least, most = {"called": (0, 1), "done": (1, 1), "refused": (0, 0), None: (0, 0)}[
            noted.get(what)]
        if what[0] == "log" and kept.get("is_master"):
            most *= 2  # no master knows a line of log again
        if not least <= stored[what] <= most:
            yield f"{what[0]} was {noted.get(what)}, and is stored {stored[what]} times"


def judge_checkpoints(noted, kept):
    states = {entry["uuid"]: entry["state"] for entry in kept["checkpoints"]["checkpoints"]}
    committed = [which for what, which in noted if what == "commit"]  # in the order of time
    for which in states.keys() - set(committed):
        yield "a checkpoint is listed that nobody committed"
    for which in committed:
        commit, removal = noted["commit", which], noted.get(("delete", which))
        there = states.get(which) == "COMPLETED"
        if commit == "done" and removal is None and not there:
            yield f"a checkpoint was committed, and is {states.get(which)}"
        if commit == "refused" and there and not kept.get("is_master"):
            yield "a commit was refused, and the checkpoint is listed"
        if removal == "done" and there:
            yield "a checkpoint was deleted, and is listed"
    there = [which for which in committed if states.get(which) == "COMPLETED"]
    latest = kept["info"]["latest"]
    if latest != (there[-1] if there else ""):
        yield f"the latest checkpoint is {latest or 'none'}, not the last one that is there"


def judge_trial(noted, kept):
    runs = [int(which) for what, which in noted if what == "run"]
    if kept["info"]["run_id"] <= max(runs, default=0):
        yield "a run number came twice"
    if noted.get(("metadata", "1")) == "done" and kept["trial"]["metadata"] != {"kept": 1}:
        yield "metadata was kept, and is lost"
    if kept.get("is_master"):
        return  # it has no operations for those it has not started
    done = [operation for operation in kept["trial"]["operations"] if operation["completed"]]
    completed = noted.get(("completed", "8"))
    if completed == "done" and [operation["metric"] for operation in done] != [8]:
        yield f"an operation was completed, and is {kept['trial']['operations']}"
    if completed is None and done:
        yield "an operation is completed that nobody completed"


def run_folders(home):
    for folder, names, _ in os.walk(os.path.join(home, ".detcore")):
        yield from (os.path.join(folder, name) for name in names if name == "runs")


def judge_files(place, kept):
    storage = place.storage
    there = set()
    for name in os.listdir(storage) if os.path.isdir(storage) else []:
        content = os.listdir(os.path.join(storage, name))
        if not name.startswith(".") and content and content != ["tensorboard"]:
            there.add(name)
    listed = {entry["uuid"] for entry in kept["checkpoints"]["checkpoints"]
              if entry["state"] == "COMPLETED"}
    if not kept.get("is_master"):  # which may know those whose answer was lost
        for _ in there - listed:
            yield "a directory is in the storage that is not listed"
    for folder in (os.path.join(storage, ".partial"), *run_folders(place.home)):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if not MAY_STAY.fullmatch(name):
                yield f"left over: {os.path.basename(folder)}/{name}"
    if kept["sync"] != {"journals": [], "busy": 0}:
        yield f"a journal is left over: {kept['sync']}"
