"""What event files for TensorBoard say, read without TensorFlow."""

import pathlib
import struct


def fields(message):
    """Of a message of Protocol Buffers: the number of each field, and its number or bytes."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, message[place:place + size]
        place += size


def records(path):
    data = path.read_bytes()
    place = 0
    while place < len(data):
        size, = struct.unpack_from("<Q", data, place)
        yield data[place + 12:place + 12 + size]
        place += 16 + size


def summaries(folder):
    """[tag, step, number or None] of all event files below a folder, in order."""
    found = []
    for path in pathlib.Path(folder).rglob("*tfevents*"):
        for record in records(path):
            event = list(fields(record))
            step = dict(event).get(2, 0)
            for summary in (dict(fields(value)) for number, message in event if number == 5
                            for one, value in fields(message) if one == 1):
                simple = struct.unpack("<f", summary[2])[0] if 2 in summary else None
                found.append([summary[1].decode(), step, simple])
    return sorted(found, key=str)
