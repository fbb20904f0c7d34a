"""The shared library stays small enough to be part of any program.

usage: check_size.py STRIP LIBRARY MOST_BYTES
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import public_api


def main(strip, library, most_bytes):
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "stripped")
        subprocess.run([strip, "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"{library}: {size:,} bytes stripped")
    excess = size - int(most_bytes)
    return public_api.report([f"that is {excess:,} bytes too many"] if excess > 0 else [])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
