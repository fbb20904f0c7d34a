"""Trains a small network on several ranks with PyTorch's DistributedDataParallel.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    torchrun --nproc_per_node 2 torch_ddp.py
"""

from pathlib import Path
from signal import SIGTERM

import numpy
import torch
from detcore import core
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

DIGITS = Path(__file__).parents[1] / "data/digits.csv"
CONFIG = {
    "name": "digits with DistributedDataParallel",
    "hyperparameters": {"learning_rate": 0.05, "hidden_size": 32},
    "searcher": {"name": "single", "metric": "loss", "max_length": {"epochs": 6}},
    "reproducibility": {"experiment_seed": 1},
}


class Training:
    def __init__(self, context):
        self.context = context
        self.is_chief = context.distributed.rank == 0
        trial = context.info.trial
        digits = torch.tensor(numpy.loadtxt(DIGITS, delimiter=",", dtype="float32"))
        data = TensorDataset(digits[:1500, :64] / 16, digits[:1500, 64].long())
        self.held_back = digits[1500:, :64] / 16, digits[1500:, 64].long()
        self.sampler = DistributedSampler(data, seed=trial.trial_seed)
        self.loader = DataLoader(data, batch_size=32, sampler=self.sampler)

        torch.manual_seed(trial.trial_seed)
        hidden_size = trial.hparams["hidden_size"]
        self.model = torch.nn.Sequential(
            torch.nn.Linear(64, hidden_size), torch.nn.ReLU(), torch.nn.Linear(hidden_size, 10)
        )
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), trial.hparams["learning_rate"], momentum=0.9
        )
        self.epochs = 0
        if context.info.latest_checkpoint is not None:
            self.restore(context.info.latest_checkpoint)
        self.parallel = DistributedDataParallel(self.model)

    def train_epoch(self):
        self.sampler.set_epoch(self.epochs)  # a new order, the same in each run
        losses = []
        for images, labels in self.loader:
            self.optimizer.zero_grad()
            loss = functional.cross_entropy(self.parallel(images), labels)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        self.epochs += 1
        of_ranks = self.context.distributed.gather(sum(losses) / len(losses))
        if self.is_chief:
            steps = self.epochs * len(self.loader)
            train = self.context.train
            train.report_training_metrics(steps, {"loss": sum(of_ranks) / len(of_ranks)})
            train.report_validation_metrics(steps, self.validate())

    def validate(self):
        images, labels = self.held_back
        with torch.no_grad():
            output = self.model(images)
        accuracy = (output.argmax(1) == labels).float().mean()
        return {"loss": functional.cross_entropy(output, labels), "accuracy": accuracy}

    def save(self):
        state = {
            "epochs": self.epochs,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        metadata = {"steps_completed": self.epochs * len(self.loader)}
        with self.context.checkpoint.store_path(metadata) as (path, _):
            torch.save(state, path / "state.pt")

    def restore(self, storage_id):
        with self.context.checkpoint.restore_path(storage_id) as path:
            state = torch.load(path / "state.pt")
        self.epochs = state["epochs"]
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def run(self):
        for operation in self.context.searcher.operations():
            while self.epochs < operation.length:
                self.train_epoch()
                if self.is_chief:  # all ranks have the same model
                    self.save()
                    operation.report_progress(self.epochs)
                if self.context.preempt.should_preempt():  # the same answer on all ranks
                    return
            if self.is_chief:
                operation.report_completed(self.validate()["loss"])


def main():
    torch.distributed.init_process_group("gloo")
    distributed = core.DistributedContext.from_torch_distributed()
    with core.init(
        distributed=distributed,
        config=CONFIG,
        external_id="torch-ddp",
        preempt_signals=[SIGTERM],
    ) as context:
        training = Training(context)
        training.run()
        if training.is_chief:
            print(f"epoch {training.epochs}: {training.validate()}")
    torch.distributed.destroy_process_group()


main()
