"""What configure_fit() collects."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class FitOptions:
    verbose: bool = True
    class_weight: Any = None
    workers: int = 1
    use_multiprocessing: bool = False
    max_queue_size: int = 10
    shuffle: bool = True
    validation_steps: Any = None
