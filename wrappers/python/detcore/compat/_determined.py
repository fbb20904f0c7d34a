"""The names that `import determined` gives."""

from __future__ import annotations

from detcore import ClusterInfo, InvalidHP, TrialContext, TrialInfo, core, get_cluster_info
from detcore._code import import_from_path
from detcore.compat import missing
from detcore.trial import Trial, TrialController

__all__ = [
    "LOG_FORMAT",
    "ClusterInfo",
    "InvalidHP",
    "Trial",
    "TrialContext",
    "TrialController",
    "TrialInfo",
    "core",
    "get_cluster_info",
    "import_from_path",
]

__path__: list[str] = []  # detcore.compat.MODULES has its modules
#: The last release of Determined with this interface. Scripts compare it.
__version__ = "0.38.1"
LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

__getattr__ = missing("determined", __all__)
