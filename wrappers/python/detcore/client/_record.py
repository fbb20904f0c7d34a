"""The common part of experiments, trials and checkpoints: facts that can be read again."""

from __future__ import annotations

import collections
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from detcore.client._states import OrderBy
from detcore.errors import Error

if TYPE_CHECKING:
    from detcore.client._connection import Connection

T = TypeVar("T")
R = TypeVar("R", bound="Record")


def as_it_is(value: Any) -> Any:
    return value


def number(value: Any) -> float | None:
    """Converts a number of JSON. NaN and infinities come as texts."""
    return None if value is None else float(value)


def time(value: str | None) -> datetime.datetime | None:
    return None if value is None else datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))


class Source(Protocol):
    """The part of a Client through which a record reads its facts."""

    _connection: Connection

    def _ask_about(self, function: str, identity: int | str, *arguments: Any) -> dict[str, Any]: ...


class Fact(Generic[T]):
    """One key of an answer. If a list did not have it, it is read at its first use."""

    def __init__(self, key: str, of: Callable[[Any], T] = as_it_is, doc: str = "") -> None:
        self._key = key
        self._of = of
        self.__doc__ = doc

    def __get__(self, record: Record, kind: type[Record] | None = None) -> T:
        if record is None:  # read from the class, as by help()
            return self
        return self._of(record._fact(self._key))


class Record:
    """The facts that were last read about one thing. It is small and cheap."""

    _identity = "id"

    def __init__(self, client: Source, entry: dict[str, Any]) -> None:
        self._client = client
        self._entry = entry
        self._whole = False

    def reload(self) -> None:
        """Reads all facts again."""
        self._entry = self._read()
        self._whole = True

    def to_json(self) -> dict[str, Any]:
        """Returns all facts, with the keys of docs/client.md."""
        if not self._whole:
            self.reload()
        return self._entry

    def _read(self) -> dict[str, Any]:
        raise NotImplementedError

    def _fact(self, key: str) -> Any:
        if key not in self._entry and not self._whole:
            self.reload()
        return self._entry.get(key)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._entry[self._identity]} {self._entry.get('state')}>"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Record)
        return bool(other._entry[self._identity] == self._entry[self._identity])

    def __hash__(self) -> int:
        return hash(self._entry[self._identity])


class Listing(Iterator[T]):
    """An iterator that reads page by page. In a notebook it shows the next entries."""

    _MOST_SHOWN = 20

    def __init__(self, found: Iterable[T]) -> None:
        self._found = iter(found)
        self._shown: collections.deque[T] = collections.deque()  # shown, and not taken yet

    def __next__(self) -> T:
        return self._shown.popleft() if self._shown else next(self._found)

    def __repr__(self) -> str:
        try:
            missing = self._MOST_SHOWN + 1 - len(self._shown)
            self._shown.extend(itertools.islice(self._found, missing))
        except Error as failure:
            return f"<{type(self).__name__}: {failure}>"
        texts = [repr(one) for one in itertools.islice(self._shown, self._MOST_SHOWN)]
        more = ["..."] if len(self._shown) > self._MOST_SHOWN else []
        return f"[{', '.join(texts + more)}]"


def ordered(
    records: Iterable[R], sort_by: str | None, order_by: str, max_results: int | None
) -> list[R]:
    """Sorts by an attribute. Records without the attribute are last."""
    found = list(records)
    descending = OrderBy(order_by) is OrderBy.DESC
    if sort_by is not None:
        attribute = str(sort_by)
        known = [record for record in found if getattr(record, attribute) is not None]
        known.sort(key=lambda record: getattr(record, attribute), reverse=descending)
        found = known + [record for record in found if getattr(record, attribute) is None]
    elif descending:
        found.reverse()
    return found[:max_results]
