"""Runs the `det` command: `python -m detcore` works wherever the package is installed."""

import os
import sys
from pathlib import Path


def main() -> None:
    own = Path(__file__).parent / "bin" / "det"
    command = str(own) if own.exists() else "det"
    os.environ.setdefault("DETCORE_PYTHON", sys.executable)  # for trials in Python
    try:
        os.execvp(command, ["det", *sys.argv[1:]])
    except OSError as failure:
        sys.exit(
            f"{command}: {failure.strerror}; install detcore with pip, or det with its package"
        )


if __name__ == "__main__":
    main()
