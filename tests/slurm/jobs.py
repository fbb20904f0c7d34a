"""The example scripts as jobs of a Slurm, and what their trials look like from outside."""
import csv
import io
import itertools
import json
import os

BATCHES, EPOCHS = 23, 40  # of the digits examples
_numbers = itertools.count(1)


class Job:
    """A script, submitted from a directory that has the programs it names."""

    def __init__(self, cluster, script, programs, *options, batch_ms=5):
        self.cluster = cluster
        self.home = f"{cluster.root}/home-{next(_numbers)}"
        os.mkdir(self.home)
        for program in programs:
            os.symlink(program, f"{self.home}/{os.path.basename(program)}")
        self.env = {"DET_HOME": self.home + "/store", "DIGITS_BATCH_MS": str(batch_ms),
                    "PATH": self.home + ":" + cluster.env["PATH"],
                    # There are fewer cores than Slurm was told, so waiting ranks leave them.
                    "OMPI_MCA_mpi_yield_when_idle": "1"}
        self.id = cluster.run("sbatch", "--parsable", f"--chdir={self.home}",
                              f"--output={self.home}/log.txt", *options, script,
                              env=self.env).strip()

    def det(self, *arguments):
        return self.cluster.run(f"{self.home}/det", *arguments, env=self.env)

    def trial(self):
        return json.loads(self.det("show", "1", "--json"))

    def exits(self):
        """How the runs of the trial ended; None for one that did not."""
        try:
            return [run["exit"] for run in self.trial()["runs"]]
        except AssertionError:
            return []  # nothing is stored yet

    def epochs(self):
        """(run, step) of each validation, in the order of their steps."""
        rows = csv.DictReader(io.StringIO(self.det(
            "metrics", "1", "--group", "validation", "--name", "accuracy", "--csv")))
        return [(int(row["trial_run_id"]), int(row["steps_completed"])) for row in rows]

    def output(self):
        with open(f"{self.home}/log.txt", errors="replace") as file:
            return file.read()

    def wait_for_epochs(self, count):
        def reached():
            try:
                return len(self.epochs()) >= count
            except AssertionError:
                return False  # nothing is stored yet
        self.cluster.wait(reached, f"job {self.id} does not reach epoch {count}")

    def state(self):
        return self.cluster.run("squeue", "--noheader", "--states=all", "--format=%T",
                                f"--jobs={self.id}").strip()

    def wait_for_end(self):
        self.cluster.wait(lambda: self.state() in ("COMPLETED", "FAILED"),
                          f"job {self.id} does not end", 120)

    def check_nothing_lost(self, exits, repeats=0, idle=0):
        """The trial is complete and its runs ended like this. Each epoch was reported, once but for
        so many repeats, and each run went on where the one before had saved; so many may have ended
        before their first epoch did."""
        trial = self.trial()
        assert trial["state"] == "COMPLETED", f"{trial['state']}: {self.output()}"
        assert self.exits() == exits, (trial["runs"], self.output())
        epochs = self.epochs()
        steps = [step for _, step in epochs]
        assert sorted(set(steps)) == [BATCHES * n for n in range(1, EPOCHS + 1)], epochs
        assert len(steps) <= EPOCHS + repeats, epochs
        runs = [run for run, _ in epochs]
        assert runs == sorted(runs), epochs
        assert len(exits) - idle <= len(set(runs)) <= len(exits), epochs
        assert self.output().count("accuracy ") == 1, self.output()
