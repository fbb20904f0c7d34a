"""A Slurm of one node, for the blocks that are marked `under: slurm`, until standard input ends.

Prints the variables that lead to it, or {"unavailable": REASON}, as JSON."""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "slurm"))
from cluster import Cluster, Unavailable, isolate  # noqa: E402

try:
    isolate()
    slurm = Cluster()
except Unavailable as reason:
    print(json.dumps({"unavailable": str(reason)}))
    sys.exit()
with slurm:
    names = {"unavailable": "Slurm has no pmix"} if "pmix" not in slurm.run("srun", "--mpi=list") else {
        "SLURM_CONF": slurm.env["SLURM_CONF"], "PATH": slurm.env["PATH"],
        # There are fewer cores than Slurm was told, so waiting ranks leave them.
        "OMPI_MCA_mpi_yield_when_idle": "1"}
    print(json.dumps(names), flush=True)
    sys.stdin.read()
