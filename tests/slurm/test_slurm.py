"""Jobs of a real Slurm: whatever stops them, they come back and go on from their latest checkpoint,
and no metric is lost or doubled.

Usage: test_slurm.py SCRIPTS PROGRAM...
"""
import os
import sys
import traceback

from cluster import CORES, Cluster, Unavailable, isolate
from jobs import Job

SCRIPTS, *PROGRAMS = map(os.path.abspath, sys.argv[1:])
NAMED = {os.path.basename(program): program for program in PROGRAMS}


def submit(slurm, script, *options, **settings):
    return Job(slurm, f"{SCRIPTS}/{script}", PROGRAMS, *options, **settings)


def has_mpi(slurm):
    return "digits_mpi" in NAMED and "pmix" in slurm.run("srun", "--mpi=list")


def a_requeued_job_goes_on(slurm):
    job = submit(slurm, "digits.sbatch")
    for epochs in (4, 12):
        job.wait_for_epochs(epochs)
        slurm.run("scontrol", "requeue", job.id)
    job.wait_for_end()
    job.check_nothing_lost(["preempted", "preempted", "ok"])


def a_preempted_job_goes_on(slurm):
    job = submit(slurm, "digits.sbatch")
    job.wait_for_epochs(4)
    slurm.run("sbatch", "--partition=high", f"--ntasks={CORES}", "--output=/dev/null",
              "--wrap=sleep 1")
    job.wait_for_end()
    job.check_nothing_lost(["preempted", "ok"])


def a_job_at_its_time_limit_goes_on(slurm):
    job = submit(slurm, "digits.sbatch", "--time=1", "--signal=TERM@60", batch_ms=40)
    slurm.wait(lambda: "preempted" in job.exits(), "the time limit is not announced")
    slurm.wait(lambda: job.state() == "PENDING", "the job does not come back")
    slurm.run("scontrol", "update", f"jobid={job.id}", "timelimit=10")
    job.wait_for_end()
    job.check_nothing_lost(["preempted", "ok"], idle=1)  # it is announced as soon as the job starts


def a_job_whose_node_died_goes_on(slurm):
    job = submit(slurm, "digits.sbatch")
    job.wait_for_epochs(4)
    slurm.crash_node()
    job.wait_for_end()
    job.check_nothing_lost(["died", "ok"], repeats=1)  # it may have died between report and save


def a_paused_job_stays_paused(slurm):
    job = submit(slurm, "digits.sbatch")
    job.wait_for_epochs(4)
    job.det("pause", "1")
    job.wait_for_end()
    assert job.trial()["state"] == "PAUSED", job.trial()


def many_ranks_over_mpi_go_on_together(slurm):
    job = submit(slurm, "digits_mpi.sbatch")
    job.wait_for_epochs(4)
    slurm.run("scontrol", "requeue", job.id)
    job.wait_for_end()
    job.check_nothing_lost(["preempted", "ok"])


def the_tasks_of_srun_are_the_ranks(slurm):
    everyone = [f"{rank}/3 local {rank}/3 node 0/1" for rank in range(3)]
    for plugin in ["none"] + ["pmix"] * has_mpi(slurm):
        out = slurm.run("srun", "--quiet", "--ntasks=3", f"--mpi={plugin}", NAMED["ranks"])
        assert out.splitlines() == everyone, out


def a_batch_script_is_one_process(slurm):
    out = f"{slurm.root}/batch.txt"
    slurm.run("sbatch", "--wait", "--ntasks=3", f"--output={out}", f"--wrap={NAMED['ranks']}")
    with open(out) as file:
        assert file.read() == "0/1 local 0/1 node 0/1\n"


TESTS = [the_tasks_of_srun_are_the_ranks, a_batch_script_is_one_process,
         a_paused_job_stays_paused, a_requeued_job_goes_on, a_preempted_job_goes_on,
         a_job_whose_node_died_goes_on, a_job_at_its_time_limit_goes_on]


def main():
    try:
        isolate()
        slurm = Cluster()
    except Unavailable as reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    failed = 0
    with slurm:
        tests = TESTS + [many_ranks_over_mpi_go_on_together] * has_mpi(slurm)
        print(f"1..{len(tests)}")
        for number, test in enumerate(tests, 1):
            try:
                test(slurm)
                print(f"ok {number} - {test.__name__}", flush=True)
            except Exception:  # the others still have something to tell
                failed += 1
                print(f"not ok {number} - {test.__name__}", flush=True)
                print(traceback.format_exc() + slurm.logs(), file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
