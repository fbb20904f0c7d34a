"""A small model that pbt.py and search_optuna.py train: softmax regression on the digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = Path(__file__).parents[1] / "data" / "digits.csv"
TRAINING = 1438  # images for training; the rest is for validation


class Softmax:
    def __init__(self, seed: int) -> None:
        digits = np.loadtxt(DIGITS, delimiter=",", dtype=np.float64)
        ones = np.ones((len(digits), 1))
        self.images = np.hstack([digits[:, :64] / 16, ones])
        self.labels = digits[:, 64].astype(int)
        self.random = np.random.default_rng(seed)
        self.weights = self.random.normal(0, 0.01, (65, 10))
        self.velocity = np.zeros_like(self.weights)

    def train(self, learning_rate: float, momentum: float, batch_size: int) -> float:
        """Trains for one epoch. Returns its mean loss."""
        losses = []
        for batch in np.split(
            self.random.permutation(TRAINING), range(batch_size, TRAINING, batch_size)
        ):
            images, labels = self.images[batch], self.labels[batch]
            scores = images @ self.weights
            scores -= scores.max(axis=1, keepdims=True)
            chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            rows = np.arange(len(batch))
            losses.append(-np.log(chances[rows, labels] + 1e-12).mean())
            chances[rows, labels] -= 1
            self.velocity = momentum * self.velocity - learning_rate * (
                images.T @ chances / len(batch)
            )
            self.weights += self.velocity
        return float(np.mean(losses))

    def error(self) -> float:
        """Returns the share of the other images that it takes for another digit."""
        found = (self.images[TRAINING:] @ self.weights).argmax(axis=1)
        return float((found != self.labels[TRAINING:]).mean())

    def save(self, directory: Path, epochs: int) -> None:
        np.savez(directory / "model.npz", weights=self.weights, velocity=self.velocity)
        state = {"epochs": epochs, "random": self.random.bit_generator.state}
        (directory / "state.json").write_text(json.dumps(state))

    def load(self, directory: Path) -> int:
        """Returns the number of epochs that the model has trained."""
        with np.load(directory / "model.npz") as model:
            self.weights, self.velocity = model["weights"], model["velocity"]
        state: dict[str, Any] = json.loads((directory / "state.json").read_text())
        self.random.bit_generator.state = state["random"]
        return int(state["epochs"])
