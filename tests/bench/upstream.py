"""The rivals of several benchmarks: upstream's Python client, and other Python packages."""

import pathlib
import subprocess
import venv

UPSTREAM = "determined==0.33.0"


def install_upstream(folder):
    """As install(): upstream."""
    return install(folder, UPSTREAM)


def install(folder, *packages):
    """Installs packages into a virtual environment in `folder`, from PyPI; gives its Python, None
    where that fails."""
    folder = pathlib.Path(folder)
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    installed = subprocess.run([python, "-m", "pip", "install", "--quiet", *packages])
    if installed.returncode == 0:
        return python
    print(f"{packages} cannot be installed here: left out")
    return None
