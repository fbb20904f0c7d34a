# Trial 1 of the default store, at work.
# shellcheck disable=SC2046
cc "$SOURCE/examples/c/minimal.c" $(pkg-config --cflags --libs detcore) -o train
(DET_HPARAMS='{"rate": 0.001}' ./train >train.txt &)
until det plot 1 loss >plot.txt 2>&1; do sleep 0.05; done
