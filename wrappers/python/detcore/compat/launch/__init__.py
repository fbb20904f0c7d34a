"""The launchers of determined that are covered. det run has started the ranks already."""

from typing import Any, Callable

from detcore.compat import missing

__getattr__: Callable[[str], Any] = missing("determined.launch", ["horovod"])
