"""How objects become bytes, and what bytes of others can do."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from detcore.core._messages import Message, bulk_count, decode, encode, encode_failure
from detcore.errors import CorruptError, InvalidArgumentError


def sent(value: Any, bulk_above: int | None = None, allow_pickle: bool = False) -> Any:
    message = encode(value, bulk_above=bulk_above, allow_pickle=allow_pickle)
    assert bulk_count(message.head) == len(message.bulk)
    return decode(message, allow_pickle=allow_pickle)


PLAIN: list[Any] = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**100, 0.0, -1.5,
    math.inf, "", "text", "\0é\udc80", b"", b"bytes", bytearray(b"array"), [], (), {}, [[], ()],
    [1.5, 2.5], [1.5, 2], (1.5,), {"a": [1, {"b": None}], (1, "x"): 2.0, 3: b"", None: True},
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
@pytest.mark.parametrize("bulk_above", [None, 0])
def test_plain_values_keep_their_types_without_pickle(value: Any, bulk_above: int | None) -> None:
    received = sent(value, bulk_above)
    assert received == value and type(received) is type(value)
    if isinstance(value, (list, tuple)):
        assert list(map(type, received)) == list(map(type, value))


def test_nan_stays_nan_and_a_memoryview_comes_out_as_bytes() -> None:
    assert math.isnan(sent(math.nan))
    assert sent(memoryview(bytearray(b"abcdef"))[::2]) == b"ace"


ARRAYS = [
    np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 3)),
    np.array(3), np.arange(10)[::2], np.array(["", "é"]), np.array([b"x"]), np.array([True]),
    np.array([1], ">i4"), np.array(["2020-01-01"], "M8[D]"), np.array([1j]), np.array([1], "f2"),
]  # fmt: skip


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
@pytest.mark.parametrize("bulk_above", [None, 0])
def test_arrays_keep_type_shape_and_order_without_pickle(
    array: np.ndarray[Any, Any], bulk_above: int | None
) -> None:
    received = sent(array, bulk_above)
    assert type(received) is np.ndarray and received.dtype == array.dtype
    assert received.shape == array.shape and np.array_equal(received, array)
    assert received.flags.f_contiguous == (array.flags.f_contiguous or array.ndim < 2)
    assert received.flags.writeable


@pytest.mark.parametrize(
    "scalar", [np.float32(2), np.int8(-1), np.bool_(True), np.str_(""), np.datetime64("2020-01-01")]
)
def test_scalars_of_numpy_keep_their_type(scalar: Any) -> None:
    assert sent(scalar) == scalar and type(sent(scalar)) is type(scalar)


def test_large_data_is_not_copied_where_it_is_sent_from_nor_where_it_arrives() -> None:
    array = np.arange(100.0)
    message = encode([array, b"small"], bulk_above=100, allow_pickle=False)
    assert len(message.head) < 200
    assert message.bulk[0].address == array.__array_interface__["data"][0]
    received, small = decode(message, allow_pickle=False)
    assert np.shares_memory(received, array) and small == b"small"


OTHERS = [{1, 2}, 1 + 2j, range(3), np.zeros(2, "i4,f8"), np.array([None])]


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_other_objects_are_pickled_where_that_is_allowed(value: Any) -> None:
    for bulk_above in None, 0:
        received = sent(value, bulk_above, allow_pickle=True)
        assert type(received) is type(value) and np.all(received == value)
    with pytest.raises(InvalidArgumentError, match=f"{type(value).__name__}.*allow_pickle = False"):
        sent([value])
    pickled = encode(value, bulk_above=None, allow_pickle=True)
    with pytest.raises(InvalidArgumentError, match="allow_pickle = False"):
        decode(pickled, allow_pickle=False)


def test_a_failure_of_the_sender_is_raised_where_it_arrives() -> None:
    with pytest.raises(ValueError, match=r"could not send.*TypeError: no such thing"):
        decode(encode_failure(TypeError("no such thing")), allow_pickle=False)


def test_what_contains_itself_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        sent(endless)


def test_corrupt_bytes_are_an_error_and_nothing_else() -> None:
    value = {"a": [1, 2.5, None, True], "b": (np.arange(5), "text", b"x" * 20), 2**70: [1.0, 2.0]}
    message = encode(value, bulk_above=16, allow_pickle=False)
    chance = random.Random(1)
    failures = 0
    for _ in range(5000):
        head = bytearray(message.head)
        for _ in range(chance.randint(1, 4)):
            what = chance.random()
            at = chance.randrange(len(head))
            if what < 0.5:
                head[at] = chance.choice([0, 1, 255, chance.randrange(256), *b"NTFiIfsbBltdagx"])
            elif what < 0.75:
                del head[at : at + chance.randint(1, 9)]
            else:
                head[at:at] = chance.randbytes(chance.randint(1, 9))
            if not head:
                break
        try:
            decode(Message(bytes(head), message.bulk), allow_pickle=False)
        except (CorruptError, InvalidArgumentError):
            failures += 1
    assert failures > 1000
    for length in range(len(message.head)):
        with pytest.raises(CorruptError):
            decode(Message(message.head[:length], message.bulk), allow_pickle=False)
    with pytest.raises(CorruptError, match="follows its end"):
        decode(Message(message.head + b"N", message.bulk), allow_pickle=False)
    with pytest.raises(CorruptError, match="bulk"):
        decode(Message(message.head, []), allow_pickle=False)
