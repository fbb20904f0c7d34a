"""A real Slurm of one node on this machine, in a directory of its own and gone afterwards."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from patience import PATIENCE  # noqa: E402

CORES = 4
HOST = socket.gethostname().split(".")[0]
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"  # where Debian keeps the daemons

CONFIG = """\
ClusterName=detcore
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={root}/munge.socket,cred_expire=5
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
JobRequeue=1
KillWait=30
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=low Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=30 OverTimeLimit=0
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10
"""


class Unavailable(Exception):
    """Why this machine cannot run a Slurm."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def isolate():
    """Starts this program again where it sees no processes but its own, and where the kernel ends
    them all with it, whatever Slurm does."""
    if os.getpid() == 1:
        return
    for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol"):
        if shutil.which(name, path=PATH) is None:
            raise Unavailable(f"{name} is not installed")
    if os.geteuid() != 0:
        raise Unavailable("slurmd starts jobs only as root")
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Unavailable("this machine allows no process namespaces")
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Cluster:
    def __init__(self):
        self.daemons = []
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        self.root = tempfile.mkdtemp(prefix="detcore-slurm-")
        os.chmod(self.root, 0o755)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("DET_", "SLURM", "DIGITS_", "OMPI_", "PMI"))}
        self.env.update(SLURM_CONF=f"{self.root}/slurm.conf", PATH=PATH)
        try:
            self._start()
        except AssertionError as failure:
            self.stop()
            raise Unavailable(str(failure).splitlines()[0]) from failure

    def _start(self):
        for name in ("state", "spool"):
            os.mkdir(f"{self.root}/{name}")
        with open(f"{self.root}/slurm.conf", "w") as file:
            file.write(CONFIG.format(root=self.root, user=self.user, cores=CORES,
                                     host=HOST, controller_port=free_port(),
                                     node_port=free_port()))
        with open(f"{self.root}/munge.key", "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(1024))
        self._daemon("munged", "--foreground", "--force", f"--key-file={self.root}/munge.key",
                     f"--socket={self.root}/munge.socket", f"--pid-file={self.root}/munge.pid",
                     f"--log-file={self.root}/munge.log", f"--seed-file={self.root}/munge.seed")
        self.wait(lambda: os.path.exists(f"{self.root}/munge.socket"), "munged does not start")
        self._daemon("slurmctld", "-D", "-c", "-f", f"{self.root}/slurm.conf")
        self._start_node()
        self.wait(lambda: self.run("sinfo", "-h", "-o", "%T", check=False).startswith("idle"),
                  "the node does not become idle")

    def _start_node(self):
        self._daemon("slurmd", "-D", "-c", "-f", f"{self.root}/slurm.conf")

    def _daemon(self, *command):
        with open(f"{self.root}/daemons.txt", "a") as out:
            self.daemons.append(subprocess.Popen(command, env=self.env, stdout=out, stderr=out,
                                                 stdin=subprocess.DEVNULL, start_new_session=True))

    def crash_node(self):
        """Kills all there is of the node at one moment, and starts it again."""
        names = ("slurmstepd", "slurmd", "srun", "slurm_script", "digits", "digits_mpi")
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/comm") as file:
                    if file.read().strip() in names:
                        os.kill(int(entry), signal.SIGKILL)
            except OSError:
                pass  # ended meanwhile
        self.daemons.pop().wait()
        node = f"nodename={HOST}"
        # What the controller would find out in some minutes.
        self.run("scontrol", "update", node, "state=down", "reason=crash")
        self._start_node()
        self.run("scontrol", "update", node, "state=resume")

    def run(self, *command, check=True, env=None):
        done = subprocess.run(command, env={**self.env, **(env or {})}, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stdout}")
        return done.stdout

    def wait(self, condition, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what} within {seconds} s:\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        text = ""
        for name in ("daemons.txt", "munge.log", "slurmctld.log", "slurmd.log"):
            try:
                with open(f"{self.root}/{name}", errors="replace") as file:
                    text += f"== {name}\n" + "".join(file.readlines()[-25:])
            except OSError:
                pass
        return text

    def stop(self):
        self.run("scancel", "--user", self.user, check=False)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(60)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
