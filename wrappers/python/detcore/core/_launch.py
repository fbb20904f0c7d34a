"""Reads the numbers of ranks from the variables of launchers."""

from __future__ import annotations

import operator
import os
from typing import Any

from detcore._abi import DET_E_INVALID, DET_E_NOT_FOUND
from detcore.errors import InvalidArgumentError, MissingChiefError, MissingVariableError

#: rank, size, local_rank, local_size, cross_rank, cross_size
Numbers = tuple[int, int, int, int, int, int]
NAMES = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")

DEEPSPEED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
TORCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE")

_LARGEST = (1 << 31) - 1
LARGEST_PORT = (1 << 16) - 1
# The launcher of each MPI sets one of them.
_OF_MPI = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE")


def variable(name: str) -> int:
    text = os.environ.get(name)
    if text is None:
        raise MissingVariableError(
            f"joining a job: the variable {name} is not set; start this program with its launcher",
            code=DET_E_NOT_FOUND,
        )
    try:
        return int(text)
    except ValueError:
        raise _invalid(f"the variable {name} is {text!r}, which is no integer") from None


def numbers_of_variables(names: tuple[str, ...]) -> dict[str, Any]:
    return {name: variable(of) for name, of in zip(NAMES, names)}


def numbers_of_horovod(hvd: Any) -> dict[str, Any]:
    """Releases of Horovod before 0.20 do not know the machines, but their launcher does."""
    return {
        name: getattr(hvd, name)() if hasattr(hvd, name) else variable("HOROVOD_" + name.upper())
        for name in NAMES
    }


def checked(numbers: dict[str, Any]) -> Numbers | None:
    """Returns None if no number is given: the job is one process."""
    given = [name for name in NAMES if numbers[name] is not None]
    if not given:
        return None
    if len(given) < len(NAMES):
        missing = ", ".join(name for name in NAMES if name not in given)
        raise _invalid(f"{missing} not given; give all of {', '.join(NAMES)}, or none")
    rank, size, local_rank, local_size, cross_rank, cross_size = (
        checked_integer(name, numbers[name]) for name in NAMES
    )
    return rank, size, local_rank, local_size, cross_rank, cross_size


def checked_integer(name: str, value: Any, largest: int = _LARGEST) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} must be an integer, not {kind}: {value!r}") from None
    if not 0 <= number <= largest:
        raise _invalid(f"{name} is {number}, and must be from 0 to {largest}")
    return number


def check_chief(numbers: Numbers | None, chief_ip: str | None) -> None:
    if numbers is None or numbers[1] == numbers[3] or chief_ip or os.environ.get("DET_CHIEF_IP"):
        return
    raise MissingChiefError(
        "joining a job of several machines: give chief_ip, the address of rank 0, or set the "
        "variable DET_CHIEF_IP",
        code=DET_E_INVALID,
    )


def is_under_mpi() -> bool:
    return any(name in os.environ for name in _OF_MPI)


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"joining a job: {why}", code=DET_E_INVALID)


def tensorflow() -> Any:
    try:
        import tensorflow  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as failure:
        raise ImportError(
            "from_tf_config() gives a strategy of TensorFlow, which cannot be imported "
            f"({failure}); without one, use from_env()"
        ) from failure
    return tensorflow


def strategy_of(tensorflow: Any, workers: int) -> Any:
    """Returns TensorFlow's strategy for these machines, and for the GPUs of this one."""
    distribute = tensorflow.distribute
    if workers > 1:
        return distribute.MultiWorkerMirroredStrategy()
    if len(tensorflow.config.list_physical_devices("GPU")) > 1:
        return distribute.MirroredStrategy()
    return distribute.get_strategy()
