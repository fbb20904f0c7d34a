"""Upstream's Python client, the rival of several benchmarks."""

import pathlib
import subprocess
import venv

UPSTREAM = "determined==0.33.0"


def install_upstream(folder):
    """Installs it into a virtual environment in `folder`, from PyPI; gives its Python, None where that
    fails."""
    folder = pathlib.Path(folder)
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    installed = subprocess.run([python, "-m", "pip", "install", "--quiet", UPSTREAM])
    if installed.returncode == 0:
        return python
    print(f"{UPSTREAM} cannot be installed here: it is left out")
    return None
