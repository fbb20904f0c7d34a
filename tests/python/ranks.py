"""Jobs of several ranks: as processes, and as threads of this one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from detcore import client
from detcore.core import DistributedContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_held: list[socket.socket] = []


def free_port() -> int:
    """One that no other program is given while this one runs. It stays bound: who listens at it all
    the same says SO_REUSEADDR, as ranks and torchrun do."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    _held.append(held)
    port: int = held.getsockname()[1]
    return port


def numbers(rank: int, machines: int, on_each: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "size": machines * on_each,
        "local_rank": rank % on_each,
        "local_size": on_each,
        "cross_rank": rank // on_each,
        "cross_size": machines,
    }


def in_threads(work: Callable[[DistributedContext], Any], machines: int, on_each: int) -> list[Any]:
    """What `work` answers on each rank, or the exception that it raises. Several machines need
    DET_DISTRIBUTED_SECRET."""
    port = free_port()
    answers: list[Any] = [None] * (machines * on_each)

    def run(rank: int) -> None:
        try:
            given = numbers(rank, machines, on_each)
            with DistributedContext(chief_ip="127.0.0.1", pub_port=port, **given) as context:
                answers[rank] = work(context)
        except Exception as failure:
            answers[rank] = failure

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(answers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return answers


def in_processes(
    work: Callable[[DistributedContext], Any], ranks: int, method: str = "spawn"
) -> list[Any]:
    """The same, each rank a process; None for one that died."""
    start: Any = multiprocessing.get_context(method)
    port = free_port()
    ends, processes = [], []
    for rank in range(ranks):
        end, other = start.Pipe()
        process = start.Process(target=_rank, args=(work, rank, ranks, port, other))
        process.start()
        other.close()
        ends.append(end)
        processes.append(process)
    answers = [_answer(end) for end in ends]
    for process in processes:
        process.join(30)
        assert process.exitcode is not None
    return answers


def _answer(end: Any) -> Any:
    assert end.poll(60)
    try:
        return end.recv()
    except EOFError:
        return None


def _rank(
    work: Callable[[DistributedContext], Any], rank: int, ranks: int, port: int, out: Any
) -> None:
    os.environ["INTER_TRAIN_PROCESS_COMM_PORT_1"] = str(port)
    try:
        with DistributedContext(**numbers(rank, 1, ranks)) as context:
            out.send(work(context))
    except Exception as failure:
        out.send(failure)


@contextlib.contextmanager
def ending_refused(external_id: str) -> Iterator[DistributedContext]:
    """A run that leaves the program in good order, since a rank found its hyperparameters invalid.
    Its ranks are a job of their own, for it is over then."""
    from detcore.trial._horovod import join_ranks  # which needs TensorFlow

    ranks = join_ranks()
    try:
        with ranks:
            yield ranks
    except SystemExit as end:
        assert end.code == 0
    else:
        raise AssertionError("the trial went on")
    if ranks.rank == 0:
        with client.Client() as store:
            assert store.get_trial(external_id).early_exit == "EXITED_REASON_INVALID_HP"
