"""Makes programs run under detcore.compat that it or `det run` starts. It is in their path.

A Python without detcore imports the determined that it has itself.
"""

import os
import sys

_NAME = __name__
_FOLDER = os.path.dirname(os.path.dirname(__file__))

del sys.modules[_NAME]
try:
    import detcore.compat  # noqa: F401
except ModuleNotFoundError as _missing:
    if _missing.name != "detcore":
        raise
    sys.path[:] = [folder for folder in sys.path if folder != _FOLDER]
    try:
        import determined  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as _neither:
        if _neither.name != "determined":
            raise
        raise ModuleNotFoundError(
            f"{sys.executable} has neither determined nor detcore, which stands in for it: "
            "install one of them",
            name="determined",
        ) from None
else:
    import determined  # pyright: ignore[reportMissingImports]

sys.modules[_NAME] = determined
