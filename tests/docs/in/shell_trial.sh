# The programs that the script calls, and a trial of three steps that it is.
printf '#!/bin/sh\necho 0.5\n' >train
printf '#!/bin/sh\necho 0.25\n' >validate
chmod +x train validate
echo 'searcher: {name: single, metric: loss, max_length: {batches: 3}}' >config.yaml
DET_HOME=$PWD/shell_trial
DET_HPARAMS='{"lr": 0.1}'
export DET_HOME DET_HPARAMS
det trial --config config.yaml -- ./train.sh
det show 1 | grep -E '^State +COMPLETED'
det metrics 1 --csv | grep '^validation,3,'
det checkpoints 1 --json | grep '"steps_completed":3'
