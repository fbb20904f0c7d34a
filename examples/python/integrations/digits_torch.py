"""Trains a small network on handwritten digits with PyTorch alone.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_torch.py
"""

from pathlib import Path
from signal import SIGTERM

import numpy
import torch
from detcore import core
from torch.nn import functional

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with PyTorch",
    "hyperparameters": {"learning_rate": 0.05, "hidden_size": 32},
    "searcher": {"name": "single", "metric": "loss", "max_length": 12},
    "reproducibility": {"experiment_seed": 1},
}


def train_epoch(model, optimizer, images, labels, seed):
    # A new order in each epoch, but the same one if a run repeats this epoch.
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    losses = []
    for batch in order.split(64):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def validate(model, images, labels):
    with torch.no_grad():
        output = model(images)
    accuracy = (output.argmax(1) == labels).float().mean()
    return {"loss": functional.cross_entropy(output, labels), "accuracy": accuracy}


def main():
    digits = torch.tensor(numpy.loadtxt(DIGITS, delimiter=",", dtype="float32"))
    images, labels = digits[:, :64] / 16, digits[:, 64].long()

    with core.init(config=CONFIG, external_id="digits-torch", preempt_signals=[SIGTERM]) as context:
        trial = context.info.trial
        torch.manual_seed(trial.trial_seed)
        hidden_size = trial.hparams["hidden_size"]
        model = torch.nn.Sequential(
            torch.nn.Linear(64, hidden_size), torch.nn.ReLU(), torch.nn.Linear(hidden_size, 10)
        )
        optimizer = torch.optim.SGD(
            model.parameters(), trial.hparams["learning_rate"], momentum=0.9
        )

        epoch = trial.steps_completed
        if context.info.latest_checkpoint:
            with context.checkpoint.restore_path(context.info.latest_checkpoint) as path:
                state = torch.load(path / "state.pt")
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])

        for operation in context.searcher.operations():
            while epoch < operation.length:
                seed = trial.trial_seed + epoch
                loss = train_epoch(model, optimizer, images[:1500], labels[:1500], seed)
                epoch += 1
                validation = validate(model, images[1500:], labels[1500:])
                context.train.report_training_metrics(epoch, {"loss": loss})
                context.train.report_validation_metrics(epoch, validation)
                with context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
                    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                    torch.save(state, path / "state.pt")
                if context.preempt.should_preempt():
                    return
            validation = validate(model, images[1500:], labels[1500:])
            operation.report_completed(validation["loss"])
            print(f"epoch {epoch}: loss {validation['loss']:.3f}")


main()
