# Experiment 1 of a store of its own: 16 trials whose loss follows from their hyperparameters.
export DET_HOME="$PWD/searches"
if [ ! -e search.yaml ]; then
  cat >search.yaml <<'END'
name: search
searcher: {name: random, metric: loss, max_trials: 16, max_length: {batches: 900}}
hyperparameters:
  lr: {type: log, base: 10, minval: -5, maxval: -2}
  drop: {type: double, minval: 0, maxval: 1}
  opt: {type: categorical, vals: [a, b]}
reproducibility: {experiment_seed: 2}
END
  cat >trial.sh <<'END'
length=$(det next)
loss=$(awk -v lr="$DET_HPARAM_lr" -v drop="$DET_HPARAM_drop" -v opt="$DET_HPARAM_opt" 'BEGIN {
  distance = log(lr) / log(10) + 3
  printf "%.6f", 0.05 + 0.04 * distance * distance + 0.1 * drop + (opt == "b" ? 0.25 : 0) }')
det report loss="$loss" --step "$length" --group validation
det next --completed "$loss"
END
  det run search.yaml -- det trial -- sh trial.sh
fi >search.txt 2>&1
