"""Trains a model on handwritten digits with Transformers.

If you kill or pause it, the next start resumes from its latest checkpoint. The result is the same
as without the interruption.

    python digits_transformers.py
"""

import tempfile
from pathlib import Path
from signal import SIGTERM

import numpy
import torch
from detcore import core
from detcore.integrations.transformers import DetCallback
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, set_seed

DIGITS = Path(__file__).parents[2] / "data/digits.csv"
CONFIG = {
    "name": "digits with Transformers",
    "hyperparameters": {"learning_rate": 0.003},
    "searcher": {"name": "single", "metric": "eval_loss", "max_length": {"epochs": 3}},
    "reproducibility": {"experiment_seed": 1},
}


def main():
    digits = numpy.loadtxt(DIGITS, delimiter=",", dtype="float32")
    examples = [
        {"pixel_values": torch.tensor(row[:64] / 16).view(1, 8, 8), "labels": int(row[64])}
        for row in digits[:480]
    ]

    with core.init(
        config=CONFIG, external_id="digits-transformers", preempt_signals=[SIGTERM]
    ) as context:
        trial = context.info.trial
        set_seed(trial.trial_seed)
        model = ViTForImageClassification(
            ViTConfig(
                image_size=8,
                patch_size=4,
                num_channels=1,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=32,
                num_labels=10,
            )
        )

        callback = DetCallback(context)
        with tempfile.TemporaryDirectory() as folder:
            for operation in callback.operations():
                arguments = TrainingArguments(
                    folder,
                    num_train_epochs=operation.length,
                    per_device_train_batch_size=40,
                    learning_rate=trial.hparams["learning_rate"],
                    lr_scheduler_type="constant",
                    evaluation_strategy="epoch",
                    save_strategy="epoch",
                    save_total_limit=1,
                    logging_steps=1,
                    seed=trial.trial_seed,
                    use_cpu=True,
                    disable_tqdm=True,
                    report_to=[],
                )
                trainer = Trainer(
                    model,
                    arguments,
                    train_dataset=examples[:400],
                    eval_dataset=examples[400:],
                    callbacks=[callback],
                )
                trainer.train(resume_from_checkpoint=callback.resume_from_checkpoint(folder))
        print(f"epoch {callback.epochs}: {callback.validation}")


main()
