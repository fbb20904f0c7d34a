"""Trains a model on handwritten digits with Lightning.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_lightning.py
"""

from pathlib import Path
from signal import SIGTERM

import numpy
import pytorch_lightning as lightning
import torch
from detcore import core
from detcore.integrations.lightning import DetCallback, DetCheckpointIO, DetLogger
from torch.nn import functional
from torch.utils.data import DataLoader, Subset, TensorDataset

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with Lightning",
    "hyperparameters": {"learning_rate": 0.05, "hidden_size": 32},
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"epochs": 6}},
    "reproducibility": {"experiment_seed": 1},
}


class Digits(lightning.LightningModule):
    def __init__(self, learning_rate, hidden_size):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, hidden_size), torch.nn.ReLU(), torch.nn.Linear(hidden_size, 10)
        )

    def training_step(self, batch, index):
        images, labels = batch
        loss = functional.cross_entropy(self.layers(images), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        images, labels = batch
        output = self.layers(images)
        self.log("val_loss", functional.cross_entropy(output, labels))
        self.log("val_accuracy", (output.argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.hparams.learning_rate, momentum=0.9)


def main():
    digits = torch.tensor(numpy.loadtxt(DIGITS, delimiter=",", dtype="float32"))
    data = TensorDataset(digits[:, :64] / 16, digits[:, 64].long())
    training, validation = Subset(data, range(1500)), Subset(data, range(1500, len(data)))

    with core.init(
        config=CONFIG, external_id="digits-lightning", preempt_signals=[SIGTERM]
    ) as context:
        trial = context.info.trial
        lightning.seed_everything(trial.trial_seed)
        model = Digits(**trial.hparams)

        callback = DetCallback(context)
        for operation in callback.operations():
            trainer = lightning.Trainer(
                max_epochs=operation.length,
                logger=DetLogger(context),
                plugins=[DetCheckpointIO(context)],
                callbacks=[callback],
                accelerator="cpu",
                log_every_n_steps=10,
                enable_progress_bar=False,
            )
            trainer.fit(
                model,
                DataLoader(training, batch_size=64),
                DataLoader(validation, batch_size=297),
                ckpt_path=callback.ckpt_path,
            )
        print(f"epoch {callback.epochs}: {callback.validation}")


main()
