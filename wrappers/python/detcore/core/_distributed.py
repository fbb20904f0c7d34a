"""Connects the ranks of one job, and exchanges Python objects between them."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any

from detcore import _abi
from detcore._capi import encoded, handle, new_struct
from detcore._interruptible import stay_on_this_thread
from detcore.core import _launch, _mpi
from detcore.core._job import Job
from detcore.core._memory import Messages, Part
from detcore.core._messages import Message, bulk_count, decode, encode, encode_failure
from detcore.errors import MissingVariableError, NotFoundError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

_PUB_PORT = 12360
# For more bytes than this, a second collective costs less than a copy.
_BULK = 1 << 16


class DistributedContext:
    """The ranks of one job. All ranks make it, each with its own numbers, and it waits for all of
    them.

    Without numbers the job is this process alone. Methods such as from_env() take the numbers from
    a launcher. rank counts all processes, local_rank those of one machine, and cross_rank the
    machines. Rank 0 is the chief.

    gather(), allgather() and broadcast() exchange objects of any type. All ranks call them in the
    same order, and each call blocks until its data is there. Objects that are not plain data, text
    or arrays of NumPy are pickled.

    A rank trusts pickled objects of other ranks, because all have proved that they belong to the
    job. On one machine the kernel proves it. TCP needs DET_DISTRIBUTED_SECRET. MPI starts its ranks
    itself. With `allow_pickle = False`, on an instance or on the class, nothing is pickled or
    unpickled.

    You may write to received arrays. A large array uses the memory in which it was received. That
    memory also has what other ranks gave to the same call.

    Args:
        rank: The number of this process, from 0.
        size: The number of processes.
        local_rank: The number of this process on its machine, from 0.
        local_size: The number of processes on this machine.
        cross_rank: The number of this machine, from 0.
        cross_size: The number of machines.
        chief_ip: The address of rank 0, if the job has several machines.
        pub_port: The port of rank 0.
        pull_port: Accepted and not used, because one port is enough.
        port_offset: A number to add to the port.
        force_tcp: True: ranks of one machine use TCP too.
    """

    allow_pickle: bool = True

    def __init__(
        self,
        *,
        rank: int | None = None,
        size: int | None = None,
        local_rank: int | None = None,
        local_size: int | None = None,
        cross_rank: int | None = None,
        cross_size: int | None = None,
        chief_ip: str | None = None,
        pub_port: int = _PUB_PORT,
        pull_port: int = 12376,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        given = (rank, size, local_rank, local_size, cross_rank, cross_size)
        numbers = _launch.checked(dict(zip(_launch.NAMES, given)))
        _launch.check_chief(numbers, chief_ip)
        options = new_struct(_abi.det_distributed_options)
        for name, number in zip(_launch.NAMES, numbers or ()):
            setattr(options, name, number)
        options.chief_ip = encoded(chief_ip or None, "chief_ip")
        # With the usual port, the variable INTER_TRAIN_PROCESS_COMM_PORT_1 decides.
        port = _launch.checked_integer("pub_port", pub_port, _launch.LARGEST_PORT)
        options.pub_port = 0 if port == _PUB_PORT else port
        _launch.checked_integer("pull_port", pull_port, _launch.LARGEST_PORT)  # one port is enough
        options.port_offset = _launch.checked_integer(
            "port_offset", port_offset, _launch.LARGEST_PORT
        )
        options.force_tcp = bool(force_tcp)
        self._join(lambda: handle("det_distributed_create", byref(options)))

    def _join(self, join: Callable[[], int]) -> None:
        job = Job(join)
        self._job: Job | None = job
        self.rank: int = job.number("rank")
        self.size: int = job.number("size")
        self.local_rank: int = job.number("local_rank")
        self.local_size: int = job.number("local_size")
        self.cross_rank: int = job.number("cross_rank")
        self.cross_size: int = job.number("cross_size")

    @classmethod
    def _joined(cls, join: Callable[[], int]) -> Self:
        context = cls.__new__(cls)
        context._join(join)
        return context

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: str | None = None) -> Self:
        """Takes the ranks from a module of Horovod, such as horovod.torch, after its init()."""
        return cls(chief_ip=chief_ip, **_launch.numbers_of_horovod(hvd))

    @classmethod
    def from_deepspeed(cls, chief_ip: str | None = None) -> Self:
        """Takes the ranks from the variables that DeepSpeed's launcher sets."""
        return cls(chief_ip=chief_ip, **_launch.numbers_of_variables(_launch.DEEPSPEED))

    @classmethod
    def from_torch_distributed(cls, chief_ip: str | None = None) -> Self:
        """Takes the ranks from the variables that torchrun sets."""
        return cls(chief_ip=chief_ip, **_launch.numbers_of_variables(_launch.TORCH))

    @classmethod
    def from_tf_config(cls) -> tuple[Self, Any]:
        """Takes the ranks from the variable TF_CONFIG. Without it the job is this process alone.

        Returns:
            The ranks, and TensorFlow's strategy for such a job.
        """
        tensorflow = _launch.tensorflow()
        context = cls._joined(lambda: handle("det_distributed_from_tf_config"))
        return context, _launch.strategy_of(tensorflow, context.size)

    @classmethod
    def from_mpi(cls, comm: Any) -> Self:
        """Takes the ranks from a communicator of mpi4py, such as MPI.COMM_WORLD. They meet over
        MPI.

        Close the context before MPI is finalised.
        """
        return cls._joined(_mpi.joining(comm))

    @classmethod
    def from_env(cls) -> Self:
        """Recognises the launcher, and takes the ranks from its variables.

        It knows Horovod, torchrun, DeepSpeed, TF_CONFIG, MPI and Slurm. Without any of them the job
        is this process alone.
        """
        if _launch.is_under_mpi():
            stay_on_this_thread()
        try:
            return cls._joined(lambda: handle("det_distributed_from_env"))
        except NotFoundError as failure:
            raise MissingVariableError(failure.message, code=failure.code) from None

    def get_rank(self) -> int:
        """Returns the number of this process, from 0."""
        return self.rank

    def get_size(self) -> int:
        """Returns the number of processes."""
        return self.size

    def get_local_rank(self) -> int:
        """Returns the number of this process on its machine, from 0."""
        return self.local_rank

    def get_num_agents(self) -> int:
        """Returns the number of machines."""
        return self.cross_size

    def gather(self, stuff: Any) -> list[Any] | None:
        """Gives the chief the objects of all ranks, in the order of ranks. Other ranks get None."""
        return self._gather("gather", stuff) if self.size > 1 else [stuff]

    def gather_local(self, stuff: Any) -> list[Any] | None:
        """Gives the first rank of this machine the objects of its ranks, as gather() does for all
        ranks."""
        return self._gather("gather_local", stuff) if self.local_size > 1 else [stuff]

    def allgather(self, stuff: Any) -> list[Any]:
        """Gives every rank the objects of all ranks, in the order of ranks."""
        return self._allgather("allgather", stuff) if self.size > 1 else [stuff]

    def allgather_local(self, stuff: Any) -> list[Any]:
        """Gives every rank of this machine the objects of its ranks, as allgather() does for all
        ranks."""
        return self._allgather("allgather_local", stuff) if self.local_size > 1 else [stuff]

    def broadcast(self, stuff: Any) -> Any:
        """Gives every rank the chief's object. Arguments of other ranks are ignored."""
        return self._broadcast("broadcast", self.rank, stuff) if self.size > 1 else stuff

    def broadcast_local(self, stuff: Any = None) -> Any:
        """Gives every rank of this machine the object of its first rank."""
        if self.local_size < 2:
            return stuff
        return self._broadcast("broadcast_local", self.local_rank, stuff)

    def _gather(self, name: str, stuff: Any) -> list[Any] | None:
        # A rank that only sends does not see what the others send, so no rank sends bulk.
        own, failure = self._encode(stuff, None)
        messages = self._call(name, own.head)
        if failure is not None:
            raise failure
        heads = [messages.copy(index) for index in range(len(messages))]
        return [self._decode(head, []) for head in heads] or None

    def _allgather(self, name: str, stuff: Any) -> list[Any]:
        own, failure = self._encode(stuff, _BULK)
        messages = self._call(name, own.head)
        heads = [messages.copy(index) for index in range(len(messages))]
        counts = [bulk_count(head) for head in heads]
        bulk: list[list[Part]] = [[] for _ in heads]
        for index in range(max(counts)):
            mine = own.bulk[index] if index < len(own.bulk) else None
            messages = self._call(name, mine)
            for rank, count in enumerate(counts):
                if index < count:
                    bulk[rank].append(messages.part(rank))
        if failure is not None:
            raise failure
        return [self._decode(head, parts) for head, parts in zip(heads, bulk)]

    def _broadcast(self, name: str, rank: int, stuff: Any) -> Any:
        if rank != 0:
            head = self._call(name, None).copy(0)
            parts = [self._call(name, None).part(0) for _ in range(bulk_count(head))]
            return self._decode(head, parts)
        own, failure = self._encode(stuff, _BULK)
        self._call(name, own.head)
        for part in own.bulk:
            self._call(name, part)
        if failure is not None:
            raise failure
        return stuff

    def _encode(self, stuff: Any, bulk_above: int | None) -> tuple[Message, Exception | None]:
        # A rank that cannot send its value sends the failure, because the others wait for it.
        try:
            return encode(stuff, bulk_above=bulk_above, allow_pickle=self.allow_pickle), None
        except Exception as failure:
            return encode_failure(failure), failure

    def _decode(self, head: bytes, bulk: list[Part]) -> Any:
        return decode(Message(head, bulk), allow_pickle=self.allow_pickle)

    def _call(self, name: str, message: bytes | Part | None) -> Messages:
        return self._open_job(name).collective(name, message)

    def _open_job(self, what: str) -> Job:
        if self._job is None:
            raise StateError(
                f"{what}(): this DistributedContext is closed; make another one, on all ranks",
                code=_abi.DET_E_STATE,
            )
        return self._job

    def close(self) -> None:
        """Leaves the job. It does not wait for other ranks, whose later collectives fail.

        A second call does nothing. A run that was started with this context stays in the job until
        its end.
        """
        self._job = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
