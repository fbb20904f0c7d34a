"""The images and the network of digits.py: one hidden layer, trained by descent with momentum."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

PIXELS, CLASSES = 64, 10


class Dataset:
    """The images of a file. Every fifth is for testing, all others are for training."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        rows = np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)
        images, labels = rows[:, :PIXELS] / 16.0, rows[:, PIXELS]
        is_test = np.arange(len(rows)) % 5 == 4
        self.images: Floats = images[~is_test]
        self.labels: Labels = labels[~is_test]
        self.test_images: Floats = images[is_test]
        self.test_labels: Labels = labels[is_test]


class Model:
    """A network whose weights are one array. The layers are parts of it."""

    def __init__(self, hidden: int, seed: int) -> None:
        self.hidden = hidden
        self.weights = np.zeros(hidden * (PIXELS + 1) + CLASSES * (hidden + 1))
        self.velocity = np.zeros_like(self.weights)
        random = np.random.default_rng(seed)
        first, _, second, _ = self.layers(self.weights)
        first[:] = np.sqrt(6 / PIXELS) * random.uniform(-1, 1, first.shape)
        second[:] = np.sqrt(6 / hidden) * random.uniform(-1, 1, second.shape)

    def layers(self, array: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Returns the weights and biases of both layers, as views."""
        sizes = [PIXELS * self.hidden, self.hidden, self.hidden * CLASSES]
        first, first_bias, second, second_bias = np.split(array, np.cumsum(sizes))
        return (
            first.reshape(PIXELS, -1), first_bias, second.reshape(-1, CLASSES), second_bias,
        )  # fmt: skip

    def forward(self, images: Floats) -> tuple[Floats, Floats]:
        first, first_bias, second, second_bias = self.layers(self.weights)
        hidden: Floats = np.maximum(images @ first + first_bias, 0)
        scores = hidden @ second + second_bias
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def gradient(self, images: Floats, labels: Labels) -> tuple[float, Floats]:
        """Returns the loss of some images and its gradient, both summed over the images."""
        hidden, probability = self.forward(images)
        loss = _loss(probability, labels)
        gradient = np.empty_like(self.weights)
        first, first_bias, second, second_bias = self.layers(gradient)
        probability[np.arange(len(labels)), labels] -= 1
        second[:] = hidden.T @ probability
        second_bias[:] = probability.sum(axis=0)
        error = (probability @ self.layers(self.weights)[2].T) * (hidden > 0)
        first[:] = images.T @ error
        first_bias[:] = error.sum(axis=0)
        return loss, gradient

    def step(self, gradient: Floats, hparams: Mapping[str, Any]) -> None:
        slope = gradient + hparams["weight_decay"] * self.weights
        self.velocity = hparams["momentum"] * self.velocity - hparams["learning_rate"] * slope
        self.weights = self.weights + self.velocity

    def evaluate(self, images: Floats, labels: Labels) -> tuple[float, float]:
        """Returns the mean loss and the accuracy."""
        _, probability = self.forward(images)
        hits = probability.argmax(axis=1) == labels
        return _loss(probability, labels) / len(labels), float(hits.mean())


def _loss(probability: Floats, labels: Labels) -> float:
    of_label = probability[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(of_label, 1e-30)).sum())
