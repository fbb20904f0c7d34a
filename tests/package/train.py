"""What a user of the wheel writes first."""

from detcore import core

with core.init() as context:
    for step in range(1, 4):
        context.train.report_training_metrics(step, {"loss": 1 / step})
    context.train.report_validation_metrics(3, {"accuracy": 0.5})
