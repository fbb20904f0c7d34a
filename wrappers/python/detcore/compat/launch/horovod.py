"""`python3 -m determined.launch.horovod`, for an entrypoint. det run starts it as each rank.

It only asks for Horovod, if that is installed, and then becomes the program of the rank.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shlex
import sys

from detcore.core import _launch, get_cluster_info
from detcore.trial import ExperimentConfig

USAGE = """usage: python3 -m determined.launch.horovod [OPTION... --] --trial MODULE:CLASS
       python3 -m determined.launch.horovod [OPTION... --] PROGRAM [ARGUMENT]..."""
_OWN = ("--trial", "--autohorovod")
_log = logging.getLogger("detcore.launch")


def program_of(arguments: list[str]) -> list[str]:
    """Returns the program of a rank. The options are those of horovodrun, which starts nothing
    here."""
    rest = list(arguments)
    if rest[:1] and rest[0].startswith("-") and rest[0] not in _OWN and "--" in rest:
        given, rest = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
        if given:
            _log.warning("ignored, because det run starts the ranks: %s", shlex.join(given))
    if rest[:1] == ["--autohorovod"]:  # in Determined: no Horovod for one slot
        del rest[0]
    if rest and rest[0].startswith("--trial="):
        rest[:1] = rest[0].split("=", 1)
    if rest[:1] == ["--trial"] and len(rest) == 2:
        return [sys.executable, "-m", "detcore.trial", rest[1]]
    if not rest or rest[0].startswith("-"):
        sys.exit(USAGE)
    return [sys.executable, *rest] if rest[0].endswith(".py") else rest


def ask_for_horovod() -> None:
    """Asks for Horovod with the configured `optimizations`, except values that the environment
    has."""
    os.environ.setdefault("USE_HOROVOD", "1")
    info = get_cluster_info()
    config = info.trial.config if info and info.trial else {}
    options = ExperimentConfig(config).get_optimizations_config()
    for name, variable, scale in (
        ("tensor_fusion_threshold", "HOROVOD_FUSION_THRESHOLD", 1 << 20),
        ("tensor_fusion_cycle_time", "HOROVOD_CYCLE_TIME", 1),
        ("auto_tune_tensor_fusion", "HOROVOD_AUTOTUNE", 1),
    ):
        if name in options:
            os.environ.setdefault(variable, str(int(options[name]) * scale))


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(name)s: %(message)s")
    program = program_of(sys.argv[1:])
    if _launch.is_under_mpi():  # several ranks
        if importlib.util.find_spec("horovod") is not None:
            ask_for_horovod()
        else:
            _log.info("Horovod is not installed: detcore sums the gradients of the ranks")
    try:
        os.execvp(program[0], program)
    except OSError as failure:
        sys.exit(f"determined.launch.horovod: starting {program[0]}: {failure.strerror}")


if __name__ == "__main__":
    main()
