"""The launchers of Determined that detcore covers. det run has started the ranks already."""

from typing import Any, Callable

from detcore.compat import missing

__getattr__: Callable[[str], Any] = missing("determined.launch", ["horovod"])
