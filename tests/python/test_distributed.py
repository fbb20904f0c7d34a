"""The ranks of a job, and what they say to each other."""

from __future__ import annotations

import functools
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import detcore
import numpy as np
import pytest
from conftest import PATIENCE
from ctrl_c import press_when_it_waits
from detcore import _capi, core
from detcore.core import DistributedContext, _mpi
from ranks import free_port, in_processes, in_threads, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

ONE: dict[str, Any] = {
    "rank": 0,
    "size": 1,
    "local_rank": 0,
    "local_size": 1,
    "cross_rank": 0,
    "cross_size": 1,
}
OF_ALL = ["gather", "allgather", "broadcast"]
OF_A_MACHINE = [name + "_local" for name in OF_ALL]


@pytest.fixture(autouse=True)
def job_of_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_DISTRIBUTED_SECRET", "secret")
    monkeypatch.setenv("DET_DISTRIBUTED_TIMEOUT", str(PATIENCE))


def test_a_job_of_one_process_says_things_to_itself() -> None:
    for context in DistributedContext(), DistributedContext(**ONE):
        assert [getattr(context, name) for name in ONE] == list(ONE.values())
        assert (context.get_rank(), context.get_size()) == (0, 1)
        assert (context.get_local_rank(), context.get_num_agents()) == (0, 1)
        stuff = object()
        for name in OF_ALL + OF_A_MACHINE:
            expected = stuff if name.startswith("broadcast") else [stuff]
            assert getattr(context, name)(stuff) == expected
        assert context.broadcast_local() is None


def of_every_kind(context: DistributedContext) -> dict[str, Any]:
    return {name: getattr(context, name)(context.rank) for name in OF_ALL + OF_A_MACHINE}


@pytest.mark.parametrize(("machines", "on_each"), [(2, 2), (1, 4), (4, 1), (2, 1)])
def test_each_collective_reaches_its_ranks(machines: int, on_each: int) -> None:
    everybody = list(range(machines * on_each))
    answers = in_threads(of_every_kind, machines, on_each)
    for rank, answer in enumerate(answers):
        first = rank - rank % on_each
        mine = everybody[first : first + on_each]
        assert answer == {
            "gather": everybody if rank == 0 else None,
            "allgather": everybody,
            "broadcast": 0,
            "gather_local": mine if rank == first else None,
            "allgather_local": mine,
            "broadcast_local": first,
        }


LARGE = 200_000


def large_and_small(context: DistributedContext) -> Any:
    stuff = [
        None, "", np.full(LARGE, context.rank, "i2"), [np.zeros(LARGE), b"x" * LARGE], {1, 2},
        bytearray(LARGE),
    ][context.rank :: context.size]  # fmt: skip
    gathered = context.gather(stuff)
    everywhere = context.allgather(stuff)
    from_chief = context.broadcast(stuff)
    if context.rank == 0:
        assert pickle.dumps(gathered) == pickle.dumps(everywhere) and from_chief is stuff
    large = [item for each in everywhere for item in each if isinstance(item, np.ndarray)]
    for array in large:
        array += 1  # it is this rank's alone
    return pickle.dumps((everywhere, from_chief))


def test_messages_of_different_sizes_arrive_whole() -> None:
    answers = in_threads(large_and_small, 1, 3)
    assert all(answer == answers[0] for answer in answers[1:]), answers
    everywhere, from_chief = pickle.loads(answers[0])
    assert len(everywhere) == 3 and len(from_chief) == 2
    assert everywhere[0][0] is None and everywhere[0][1][1] == b"x" * LARGE
    assert everywhere[1] == ["", {1, 2}]
    assert everywhere[2][0].dtype == np.int16 and set(everywhere[2][0]) == {3}
    assert from_chief[0] is None and len(from_chief[1][0]) == LARGE


def test_arrays_outlive_the_context_and_their_list() -> None:
    def first(context: DistributedContext) -> Any:
        return context.allgather(np.full(LARGE, context.rank))[1]

    arrays = in_threads(first, 1, 2)
    assert [set(array) for array in arrays] == [{1}, {1}]
    assert not np.shares_memory(*arrays)


def test_gather_waits_for_everybody() -> None:
    came: list[int] = []

    def late(context: DistributedContext) -> list[int]:
        time.sleep(0.1 * context.rank)
        came.append(context.rank)
        context.gather(None)
        return list(came)

    assert all(sorted(answer) == [0, 1, 2] for answer in in_threads(late, 1, 3))


@pytest.mark.parametrize("name", ["gather", "allgather", "broadcast"])
def test_who_cannot_send_tells_the_others(name: str) -> None:
    def work(context: DistributedContext) -> Any:
        context.allow_pickle = name != "gather"
        try:
            getattr(context, name)(threading.Lock() if context.rank == 0 else 1)
        except Exception as failure:
            error: Exception | None = failure
        else:
            error = None
        return error, context.allgather(context.rank)

    (own, after), (theirs, after_theirs) = in_threads(work, 1, 2)
    assert after == after_theirs == [0, 1]  # they are still in step
    if name == "gather":  # whose others are told nothing
        assert isinstance(own, ValueError) and "allow_pickle" in str(own) and theirs is None
    else:
        assert isinstance(own, TypeError) and isinstance(theirs, ValueError)
        assert "could not send" in str(theirs) and "pickle" in str(theirs)


def test_different_collectives_are_an_error_that_names_both() -> None:
    def work(context: DistributedContext) -> None:
        (context.gather if context.rank == 0 else context.allgather)(1)

    for failure in in_threads(work, 1, 2):
        assert isinstance(failure, RuntimeError) and isinstance(failure, detcore.Error)
        assert "gather" in str(failure) and "rank 1" in str(failure)


def after_a_death(context: DistributedContext) -> Any:
    context.allgather(None)
    if context.rank == 1:
        os._exit(1)
    return context.allgather(None)


def test_a_dead_rank_is_named() -> None:
    first, dead, last = in_processes(after_a_death, 3)
    assert dead is None
    for failure in first, last:
        assert isinstance(failure, ConnectionError) and "rank 1" in str(failure)


def test_ranks_may_be_processes() -> None:
    answers = in_processes(of_every_kind, 2)
    assert answers[1] == {
        "gather": None, "allgather": [0, 1], "broadcast": 0,
        "gather_local": None, "allgather_local": [0, 1], "broadcast_local": 0,
    }  # fmt: skip
    assert in_processes(of_every_kind, 2, "fork") == answers


def test_a_closed_context_says_so() -> None:
    def work(context: DistributedContext) -> None:
        context.close()
        context.close()
        assert context.size == 2
        for name in OF_ALL + OF_A_MACHINE:
            with pytest.raises(RuntimeError, match=f"{name}.*closed"):
                getattr(context, name)(1)
        with pytest.raises(RuntimeError, match="closed"):
            core.init(distributed=context)

    assert in_threads(work, 1, 2) == [None, None]


def interrupted(context: DistributedContext, *, asking: str) -> bool:
    marker = Path(os.environ["HOME"], "interrupted")
    with core.init(distributed=context) as run:
        if context.rank == 0:  # the other one waits for this one, but not to its end
            waits = 0
            while not marker.exists() and waits < 100:
                time.sleep(0.1)
                waits += 1
            return marker.exists()
        ask: Any = {
            "allgather": lambda: context.allgather(None),
            "should_preempt": run.preempt.should_preempt,
        }[asking]
        press_when_it_waits()
        with pytest.raises(KeyboardInterrupt):
            ask()
        marker.touch()
        with pytest.raises(RuntimeError, match="stopped"):
            ask()
        return True


@pytest.mark.parametrize("asking", ["allgather", "should_preempt"])
def test_ctrl_c_ends_a_wait_for_others(asking: str) -> None:
    assert in_processes(functools.partial(interrupted, asking=asking), 2) == [True, True]


def keeps_on_waiting(context: DistributedContext) -> tuple[list[int], list[int]]:
    seen: list[int] = []
    marker = Path(os.environ["HOME"], "handled")

    def handle(number: int, _: object) -> None:
        seen.append(number)
        marker.touch()

    if context.rank == 1:
        while not marker.exists():
            time.sleep(0.01)
    else:
        signal.signal(signal.SIGUSR1, handle)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    return context.allgather(context.rank), seen


def test_a_handler_that_raises_nothing_ends_no_wait() -> None:
    assert in_processes(keeps_on_waiting, 2) == [([0, 1], [signal.SIGUSR1]), ([0, 1], [])]


# Arguments and launchers.

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"rank": 0}, ValueError, "size, local_rank, local_size, cross_rank, cross_size not given"),
    ({**ONE, "rank": None}, ValueError, "rank not given"),
    ({**ONE, "rank": 1}, ValueError, "rank"),
    ({**ONE, "rank": -1}, ValueError, "rank is -1"),
    ({**ONE, "size": 2**40}, ValueError, "size is 1099511627776"),
    ({**ONE, "size": "2"}, TypeError, "size must be an integer, not str: '2'"),
    ({**ONE, "local_size": 1.0}, TypeError, "local_size must be an integer"),
    ({**ONE, "size": 2, "cross_size": 2}, AssertionError, "chief_ip"),
    ({**ONE, "size": 2, "cross_size": 2, "chief_ip": ""}, AssertionError, "DET_CHIEF_IP"),
    ({**ONE, "chief_ip": 5}, TypeError, "chief_ip must be text"),
    ({**ONE, "pub_port": 70000}, ValueError, "port"),
    ({**ONE, "port_offset": None}, TypeError, "port_offset"),
]


@pytest.mark.parametrize(("given", "kind", "text"), WRONG, ids=lambda given: repr(given)[:40])
def test_wrong_arguments(given: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as raised:
        DistributedContext(**given)
    assert isinstance(raised.value, (TypeError, detcore.Error))


def test_arguments_have_names() -> None:
    with pytest.raises(TypeError, match="positional"):
        DistributedContext(0, 1, 0, 1, 0, 1)  # type: ignore[misc]


def test_without_a_secret_machines_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DET_DISTRIBUTED_SECRET")
    with pytest.raises(ValueError, match="DET_DISTRIBUTED_SECRET"):
        DistributedContext(**numbers(0, 2, 1), chief_ip="127.0.0.1")


LAUNCHERS: dict[str, tuple[Callable[..., DistributedContext], list[str]]] = {
    "torch": (
        DistributedContext.from_torch_distributed,
        ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"],
    ),
    "deepspeed": (
        DistributedContext.from_deepspeed,
        ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"],
    ),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_variables_of_launchers(launcher: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, names = LAUNCHERS[launcher]
    for name, value in zip(names, ONE.values()):
        monkeypatch.setenv(name, str(value))
    context = make()
    assert [getattr(context, name) for name in ONE] == list(ONE.values())
    monkeypatch.setenv(names[1], "2")
    monkeypatch.setenv(names[5], "2")
    with pytest.raises(AssertionError, match="DET_CHIEF_IP"):
        make(chief_ip="")
    monkeypatch.setenv(names[3], "one")
    with pytest.raises(ValueError, match=f"{names[3]} is 'one'"):
        make()
    monkeypatch.delenv(names[3])
    with pytest.raises(KeyError, match=names[3]):
        make()


def horovod(**numbers: int) -> Any:
    """What a module of Horovod answers."""
    return types.SimpleNamespace(**{name: lambda n=n: n for name, n in numbers.items()})


def test_horovod_is_asked_for_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    context = DistributedContext.from_horovod(horovod(**ONE))
    assert [getattr(context, name) for name in ONE] == list(ONE.values())
    with pytest.raises(AssertionError, match="DET_CHIEF_IP"):
        DistributedContext.from_horovod(horovod(**{**ONE, "size": 2, "cross_size": 2}))
    old = horovod(rank=0, size=1, local_rank=0, local_size=1)
    with pytest.raises(KeyError, match="HOROVOD_CROSS_RANK"):
        DistributedContext.from_horovod(old)
    monkeypatch.setenv("HOROVOD_CROSS_RANK", "0")
    monkeypatch.setenv("HOROVOD_CROSS_SIZE", "1")
    assert DistributedContext.from_horovod(old).get_num_agents() == 1


def of_horovod(context: DistributedContext) -> Any:
    given = {**numbers(context.rank, 1, 2)}
    port = context.broadcast(free_port())
    os.environ["INTER_TRAIN_PROCESS_COMM_PORT_1"] = str(port)
    with DistributedContext.from_horovod(horovod(**given)) as job:
        return job.allgather(job.rank)


def test_ranks_of_horovod_meet() -> None:
    assert in_processes(of_horovod, 2) == [[0, 1], [0, 1]]


class Strategy:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is asked of TensorFlow."""
    module = types.SimpleNamespace(gpus=[])
    module.config = types.SimpleNamespace(list_physical_devices=lambda _: module.gpus)
    module.distribute = types.SimpleNamespace(
        MultiWorkerMirroredStrategy=lambda: Strategy("of machines"),
        MirroredStrategy=lambda: Strategy("of GPUs"),
        get_strategy=lambda: Strategy("usual"),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


def tf_config(index: int, workers: int, kind: str = "worker") -> str:
    cluster = {"worker": [f"127.0.0.1:{1000 + worker}" for worker in range(workers)]}
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def test_tf_config_gives_context_and_strategy(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, strategy = DistributedContext.from_tf_config()
    assert (context.size, strategy.name) == (1, "usual")
    tensorflow.gpus = [1, 2]
    monkeypatch.setenv("TF_CONFIG", tf_config(0, 1))
    context, strategy = DistributedContext.from_tf_config()
    assert (context.size, strategy.name) == (1, "of GPUs")
    monkeypatch.setenv("TF_CONFIG", tf_config(0, 2, "ps"))
    with pytest.raises(RuntimeError, match="'ps'"):
        DistributedContext.from_tf_config()
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="TF_CONFIG"):
        DistributedContext.from_tf_config()
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="from_env"):
        DistributedContext.from_tf_config()


def of_tensorflow(context: DistributedContext) -> Any:
    port = context.broadcast(free_port())
    os.environ["INTER_TRAIN_PROCESS_COMM_PORT_1"] = str(port)
    os.environ["TF_CONFIG"] = tf_config(context.rank, 2)
    made = types.SimpleNamespace(MultiWorkerMirroredStrategy=lambda: "of machines")
    sys.modules["tensorflow"] = types.SimpleNamespace(distribute=made)  # type: ignore[assignment]
    job, strategy = DistributedContext.from_tf_config()
    with job:
        return strategy, job.cross_rank, job.allgather(job.rank)


def test_ranks_of_tf_config_meet() -> None:
    assert in_processes(of_tensorflow, 2) == [
        ("of machines", 0, [0, 1]),
        ("of machines", 1, [0, 1]),
    ]


def test_from_env_without_a_launcher_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with DistributedContext.from_env() as context:
        assert context.size == 1
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(KeyError, match="RANK"):
        DistributedContext.from_env()


# Each prints its rank and what all said.
SAYS = 'print(f"{context.rank} {context.allgather(context.rank)}\\n", end="", flush=True)'


def launched(command: list[str], program: str, folder: Path, status: int = 0) -> list[str]:
    """The lines that the ranks of a program printed, sorted."""
    file = folder / "program.py"
    file.write_text("from detcore.core import DistributedContext\n" + program)
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, done.stderr
    return sorted(done.stdout.splitlines())


def test_torchrun(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch.distributed")
    monkeypatch.setenv("INTER_TRAIN_PROCESS_COMM_PORT_1", str(free_port()))
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]
    # The last two are of no rank: torch 1.13 does not find its usual values where Python is 3.11.
    launch += [f"--master_port={free_port()}", "--redirects=9:1", "--tee=9:1"]
    program = f"""
with DistributedContext.from_torch_distributed() as context:
    {SAYS}
with DistributedContext.from_env() as context:
    {SAYS}
"""
    assert launched(launch, program, store.parent) == ["0 [0, 1]"] * 2 + ["1 [0, 1]"] * 2


@pytest.fixture
def mpirun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pytest.importorskip("mpi4py")
    found = shutil.which("mpirun")
    if found is None or not Path(_capi.library.path).with_name(_mpi.SONAME).exists():
        pytest.skip("there is no MPI")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return [found, "--oversubscribe", "-n", "2", sys.executable]


@pytest.mark.parametrize(
    "program",
    [
        f"""
from mpi4py import MPI
with DistributedContext.from_mpi(MPI.COMM_WORLD) as context:
    {SAYS}
""",
        f"""
import mpi4py
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI
reverse = MPI.COMM_WORLD.Split(0, -MPI.COMM_WORLD.rank)
with DistributedContext.from_mpi(reverse) as context:
    assert context.rank == reverse.rank != MPI.COMM_WORLD.rank and context.local_size == 2
    large = context.broadcast(bytes(300000) if context.rank == 0 else None)
    assert large == bytes(300000)
    {SAYS}
""",
        f"with DistributedContext.from_env() as context:\n    {SAYS}\n",
        f"context = DistributedContext.from_env()\n{SAYS}\n",
    ],
    ids=["from_mpi", "of a thread and a communicator", "from_env", "that nobody leaves"],
)
def test_mpirun(program: str, mpirun: list[str], store: Path) -> None:
    assert launched(mpirun, program, store.parent) == ["0 [0, 1]", "1 [0, 1]"]


def test_a_rank_that_fails_gives_the_job_its_status(mpirun: list[str], store: Path) -> None:
    program = "context = DistributedContext.from_env()\nraise SystemExit(3 * context.rank)\n"
    assert launched(mpirun, program, store.parent, status=3) == []


def test_what_is_no_communicator(mpirun: list[str]) -> None:
    with pytest.raises(TypeError, match="communicator of mpi4py, not str"):
        DistributedContext.from_mpi("world")


OTHER_MPI = """
#include <stdio.h>
int MPI_Get_library_version(char *version, int *size) {
  *size = sprintf(version, "Another MPI 1.0");
  return 0;
}
"""


def test_another_mpi_is_refused(
    mpirun: list[str], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler")
    source, library = store.parent / "other.c", store.parent / "other.so"
    source.write_text(OTHER_MPI)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    from mpi4py import MPI

    monkeypatch.setattr(MPI, "__file__", str(library))
    with pytest.raises(NotImplementedError, match=r"Another MPI 1\.0.*Open MPI.*rebuild"):
        DistributedContext.from_mpi(MPI.COMM_WORLD)


def test_without_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(NotImplementedError, match="mpi4py cannot be imported"):
        DistributedContext.from_mpi(None)


# With a core.


def sharded(context: DistributedContext) -> Any:
    with core.init(distributed=context) as run:
        with run.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, storage_id):
            (path / f"of_{context.rank}").write_text(str(context.rank))
        with run.checkpoint.restore_path(storage_id) as path:
            found = sorted(file.name for file in path.iterdir() if file.name.startswith("of_"))
        context.close()  # the core goes on with it
        lengths = []
        for operation in run.searcher.operations():
            lengths.append(operation.length)
            if context.rank == 0:
                operation.report_completed(1.0)
        return found, lengths, run.preempt.should_preempt(), run.distributed is context


def test_ranks_train_together() -> None:
    expected = (["of_0", "of_1"], [1], False, True)
    assert in_processes(sharded, 2) == [expected, expected]
