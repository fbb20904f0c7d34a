"""Trains one batch: keras_start.py plain|trial, with plain Keras, which imports nothing else, or as
a TFKerasTrial. Prints the seconds from the start of the process to its first batch."""

import os
import sys
import time

import tensorflow as tf


def seconds_of_process():
    """Since it began, by the clock of Linux, in hundredths."""
    with open("/proc/self/stat", encoding="ascii") as file:
        begun = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - begun


class Clock(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        print(seconds_of_process())


def plain():
    dense = tf.keras.layers.Dense
    model = tf.keras.Sequential([dense(64, "relu", input_shape=(784,)), dense(10)])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, ["accuracy"])
    data = tf.data.Dataset.from_tensors((tf.zeros((16, 784)), tf.zeros(16, tf.int64)))
    model.fit(data, steps_per_epoch=1, callbacks=[Clock()], verbose=0)


def trial():
    import keras_definition as keras
    from detcore import core

    keras.Definition.of_arrays, keras.Definition.clock = False, Clock()
    with core.init(config=keras.CONFIG) as run:
        keras.trained(keras.Trial, run, 1)


{"plain": plain, "trial": trial}[sys.argv[1]]()
