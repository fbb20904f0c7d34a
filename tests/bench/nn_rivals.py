"""The models of nn_steps.cc in PyTorch and TensorFlow, for bench_nn.py: nn_rivals.py LIBRARY MODEL BATCH STEPS [DEVICE POLICY].

LIBRARY is torch, inductor (torch.compile), eager (TensorFlow), tf (compiled by tf.function) or xla (by XLA besides). DEVICE
is one of PyTorch, such as cuda, and POLICY mixed_bfloat16, which PyTorch calls autocast; records come from memory of the
process in each step, and a step has ended where the device has. Prints the nanoseconds of the median step, and in KiB what
the process has had at most, and had once the library was imported."""

import re
import statistics
import sys
import time

import numpy as np

library, model, batch, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
device, policy = sys.argv[5:7] or ("cpu", "float32")
SHAPES = {"mlp": (784,), "cnn": (28, 28, 1), "lstm": (28, 28)}
BLOCKS, FEATURES, HEADS, LENGTH, TOKENS = 4, 64, 4, 32, 256
if model == "transformer":
    x = labels = (np.arange(batch * LENGTH) % TOKENS).reshape(batch, LENGTH)
else:
    x = np.sin(np.arange(batch * 784, dtype=np.float32)).reshape(batch, *SHAPES[model])
    labels = (np.arange(batch) % 10).astype(np.int64)


def peak_kib():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1])


def of_torch():
    import torch
    from torch import nn

    global loaded
    loaded = peak_kib()

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells, self.last = nn.LSTM(28, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, rows):
            return self.last(self.cells(rows)[0][:, -1])

    torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
    data = torch.from_numpy(x)
    if model == "cnn":
        net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(32), nn.Conv2d(32, 64, 3),
                            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(1600, 128), nn.ReLU(),
                            nn.Linear(128, 10))
        data = data.reshape(batch, 1, 28, 28)
    elif model == "lstm":
        net = Lstm()
    elif model == "transformer":
        blocks = [nn.TransformerEncoderLayer(FEATURES, HEADS, 4 * FEATURES, 0.0, batch_first=True, norm_first=True)
                  for _ in range(BLOCKS)]
        net = nn.Sequential(nn.Embedding(TOKENS, FEATURES), *blocks, nn.LayerNorm(FEATURES), nn.Linear(FEATURES, TOKENS),
                            nn.Flatten(0, 1))
    else:
        net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    truth = torch.from_numpy(labels).flatten()
    on_gpu = device == "cuda"
    if on_gpu:
        net = net.to(device, memory_format=torch.channels_last if model == "cnn" else torch.preserve_format)
        data, truth = data.pin_memory(), truth.pin_memory()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()

    def loss_of(records, labels):
        with torch.autocast(device, torch.bfloat16, enabled=policy == "mixed_bfloat16"):
            return loss(net(records), labels)

    if library == "inductor":
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(data.to(device, non_blocking=True), truth.to(device, non_blocking=True)).backward()
        optimizer.step()
        if on_gpu:
            torch.cuda.synchronize()

    return step


def transformer_of_keras(layers, keras):
    tokens = layers.Input((LENGTH,), dtype="int32")
    at = layers.Embedding(TOKENS, FEATURES)(tokens)
    for _ in range(BLOCKS):
        normal = layers.LayerNormalization()(at)
        at = layers.Add()([at, layers.MultiHeadAttention(HEADS, FEATURES // HEADS)(normal, normal)])
        wide = layers.Dense(4 * FEATURES, activation="relu")(layers.LayerNormalization()(at))
        at = layers.Add()([at, layers.Dense(FEATURES)(wide)])
    return keras.Model(tokens, layers.Dense(TOKENS)(layers.LayerNormalization()(at)))


def of_tensorflow():
    import tensorflow as tf

    global loaded
    loaded = peak_kib()
    layers = tf.keras.layers
    if model == "cnn":
        net = tf.keras.Sequential([layers.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPool2D(),
                                   layers.BatchNormalization(), layers.Conv2D(64, 3, activation="relu"), layers.MaxPool2D(),
                                   layers.Flatten(), layers.Dropout(0.25), layers.Dense(128, activation="relu"),
                                   layers.Dense(10)])
    elif model == "lstm":
        net = tf.keras.Sequential([layers.Input((28, 28)), layers.LSTM(128), layers.Dense(10)])
    elif model == "transformer":
        net = transformer_of_keras(layers, tf.keras)
    else:
        net = tf.keras.Sequential([layers.Input((784,)), layers.Dense(128, activation="relu"), layers.Dense(10)])
    data, truth = tf.constant(x), tf.constant(labels)
    optimizer = tf.keras.optimizers.legacy.SGD(0.01)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step():
        with tf.GradientTape() as tape:
            value = loss(truth, net(data, training=True))
        optimizer.apply_gradients(zip(tape.gradient(value, net.trainable_variables), net.trainable_variables))
        return value

    compiled = step if library == "eager" else tf.function(step, jit_compile=library == "xla")
    return lambda: compiled().numpy()


step = of_torch() if library in ("torch", "inductor") else of_tensorflow()
for _ in range(5):
    step()
times = []
for _ in range(steps):
    begin = time.perf_counter_ns()
    step()
    times.append(time.perf_counter_ns() - begin)
print(round(statistics.median(times)), peak_kib(), loaded)
