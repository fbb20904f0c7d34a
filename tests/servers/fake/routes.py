"""Which call a request is: the table of all, by method, path and the master's generation."""

import dataclasses
import urllib.parse

from .message import as_integer
from .refusal import Refusal, unimplemented

V19, V33, V38 = 19, 33, 38  # the generations: 0.19.10, 0.33.0, 0.38.1

_routes = []


@dataclasses.dataclass
class Route:
    method: str
    segments: list
    function: object
    since: int
    until: int
    needs_token: bool


def route(method, path, since=V19, until=V38, needs_token=True):
    """For a function(world, call) → JSON. `{name:int}` in the path is a number of 32 bits."""

    def register(function):
        segments = path.strip("/").split("/")
        _routes.append(Route(method, segments, function, since, until, needs_token))
        return function

    return register


def _parameters(pattern, segments):
    """None where the path is another; the values are still text."""
    if len(pattern) != len(segments):
        return None
    found = {}
    for expected, segment in zip(pattern, segments):
        if expected.startswith("{"):
            found[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return found


def find_route(version, method, path):
    """The route and the parameters of its path. None for an unknown path outside of /api/v1."""
    decoded = urllib.parse.unquote(path)
    segments = decoded.removesuffix("/").strip("/").split("/")
    is_gateway = decoded.startswith("/api/v1/")
    # What follows a colon in the last segment is taken for a verb, and there are no verbs.
    if not (is_gateway and (":" in segments[-1] or "//" in decoded)):
        for candidate in _routes:
            found = _parameters(candidate.segments, segments)
            if found is None or candidate.method != method:
                continue
            if not candidate.since <= version <= candidate.until:
                continue
            return candidate, _convert(found)
    if is_gateway:
        raise unimplemented()
    return None, {}


def _convert(found):
    converted = {}
    for name, text in found.items():
        name, _, kind = name.partition(":")
        converted[name] = as_integer(text, f"{name} in the path") if kind == "int" else text
    return converted


def unknown_plain_path(method, path, has_token):
    if has_token:
        return Refusal(404, f"nothing answers {method} {path}", plain=True)
    return Refusal(401, "no token was given", plain=True)
