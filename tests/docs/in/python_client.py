# Experiment 1 of a store of its own, with 8 trials; figures are drawn for nobody.
import os
import pathlib
import subprocess

os.environ |= {"DET_HOME": str(pathlib.Path("results").absolute()), "MPLBACKEND": "Agg"}
if not pathlib.Path("results").exists():
    pathlib.Path("results.yaml").write_text("""
name: digits
searcher: {name: grid, metric: loss, max_length: {batches: 3}, max_concurrent_trials: 2}
hyperparameters:
  lr: {type: double, minval: 0.001, maxval: 0.1, count: 4}
  width: {type: int, minval: 16, maxval: 32, count: 2}
""")
    pathlib.Path("results.sh").write_text("""
length=$(det next)
for step in $(seq "$length"); do det report loss="0.$step" --step "$step"; done
mkdir -p "model$DET_TRIAL_ID"
echo weights >"model$DET_TRIAL_ID/weights"
det checkpoint save "model$DET_TRIAL_ID" --step "$length"
det report loss="$DET_HPARAM_lr" --step "$length" --group validation
det next --completed "$DET_HPARAM_lr"
""")
    trial = ["det", "trial", "--", "sh", "results.sh"]
    subprocess.run(["det", "run", "results.yaml", "--", *trial], check=True)
