"""An estimator for tests, in a module that trials can import."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from sklearn.neighbors import KNeighborsClassifier


class Dying(KNeighborsClassifier):  # type: ignore[misc]
    """The first one of its kind that is fitted kills its process; `n_neighbors` 0 cannot be."""

    def __init__(self, died: Any = None, n_neighbors: int = 5) -> None:
        super().__init__(n_neighbors)
        self.died = died

    def fit(self, X: Any, y: Any) -> Any:
        if self.died is not None and not Path(self.died).exists():
            Path(self.died).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
