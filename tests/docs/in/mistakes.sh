# A configuration with some mistakes.
cat >exp.yaml <<'END'
name: mistakes
entrypoint: ./train
searcher:
  name: random
  metric: loss
  max_trails: 4
  max_length: {batches: 100}
hyperparameters:
  lr: {type: double, minval: 2, maxval: 1}
END
