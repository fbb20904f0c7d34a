"""Bodies as a master reads them: names in either spelling, null as absent, strict integers."""

import datetime
import json
import re

from .refusal import internal, invalid

NOTHING = object()  # no body
NUMBER_TEXTS = ("NaN", "Infinity", "-Infinity")


def _refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def parse_body(data):
    """The first JSON value of a body; NOTHING where there is none."""
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return NOTHING
    try:
        return json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[0]
    except ValueError as error:
        raise invalid(f"the body is no JSON: {error}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_integer(value, name, bits=32):
    """A whole number, quoted or not."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(f"{name} must be an integer")
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise invalid(f"{name} does not fit into {bits} bits")
    return value


def as_time(value, name):
    try:
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        raise invalid(f"{name} must be a time as RFC 3339 has it")


class Message:
    def __init__(self, body):
        if body is NOTHING or body is None:
            body = {}
        if not isinstance(body, dict):
            raise invalid("the body must be an object")
        self.body = body

    def get(self, name, default=None):
        """`name` is in camelCase."""
        value = self.body.get(name)
        if value is None:
            value = self.body.get(re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name))
        return default if value is None else value

    def integer(self, name, default=None, bits=32):
        value = self.get(name)
        return default if value is None else as_integer(value, name, bits)

    def number(self, name, default=0.0):
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise invalid(f"{name} must be a number")
        try:
            return float(value)
        except ValueError:
            raise invalid(f"{name} must be a number")

    def _typed(self, name, kind, default, what):
        value = self.get(name, default)
        if value is not None and not isinstance(value, kind):
            raise invalid(f"{name} must be {what}")
        return value

    def text(self, name, default=""):
        return self._typed(name, str, default, "a text")

    def flag(self, name):
        return self._typed(name, bool, False, "true or false")

    def object(self, name, default=None):
        return self._typed(name, dict, default, "an object")

    def list(self, name):
        return self._typed(name, list, [], "a list")

    def choice(self, name, names, default=None):
        """One of `names`, a list in the order of their numbers."""
        value = self.get(name, default)
        if isinstance(value, int) and 0 <= value < len(names):
            return names[value]
        if value is not None and value not in names:
            raise invalid(f"{name} must be one of {', '.join(names)}")
        return value

    def part(self, name):
        """A message that must be there; masters crash on one that is not."""
        value = self.get(name)
        if value is None:
            raise internal(f"{name} is not there")
        return Message(value)
