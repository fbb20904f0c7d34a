"""Found by the children of a program that runs under detcore.compat: they run under it too."""

import sys

del sys.modules[__name__]

import detcore.compat  # noqa: E402, F401

import determined  # noqa: E402  # pyright: ignore[reportMissingImports]

sys.modules[__name__] = determined
