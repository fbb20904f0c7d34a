"""As much YAML as experiment configurations have: JSON, or blocks of maps and lists with plain and
quoted scalars and one-line flow collections. Anything else is a ValueError."""

import json
import re

_WORDS = {"": None, "null": None, "~": None, "true": True, "false": False}


def parse_yaml(text):
    """None for a text without content."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    lines = [line.rstrip() for line in text.splitlines()]
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return None
    value, rest = _block(lines, _indent(lines[0]))
    if rest:
        raise ValueError(f"'{rest[0]}' is not expected")
    return value


def _indent(line):
    return len(line) - len(line.lstrip())


def _block(lines, indent):
    """The value of the lines at `indent`, and the lines after it."""
    if lines[0].lstrip().startswith("- "):
        return _list(lines, indent)
    if _key(lines[0]) is None:
        return _inline(lines[0].strip()), lines[1:]
    return _map(lines, indent)


def _list(lines, indent):
    found = []
    while lines and _indent(lines[0]) == indent and lines[0].lstrip().startswith("- "):
        first = lines[0][:indent] + "  " + lines[0][indent + 2:]
        value, lines = _block([first, *lines[1:]], _indent(first))
        found.append(value)
    return found, lines


def _key(line):
    found = re.match(r"""\s*("[^"]*"|'[^']*'|[^\s{\["'][^:]*?)\s*:(?:\s+(.*))?$""", line)
    return found and (str(_inline(found[1])) if found[1][0] in "\"'" else found[1], found[2] or "")


def _map(lines, indent):
    found = {}
    while lines and _indent(lines[0]) == indent:
        key = _key(lines[0])
        if key is None:
            raise ValueError(f"'{lines[0]}' is no key with a value")
        name, text = key
        lines = lines[1:]
        if text:
            found[name] = _inline(text)
        elif lines and (_indent(lines[0]) > indent or
                        _indent(lines[0]) == indent and lines[0].lstrip().startswith("- ")):
            found[name], lines = _block(lines, _indent(lines[0]))
        else:
            found[name] = None
    return found, lines


def _inline(text):
    value, rest = _flow(text)
    if rest.strip():
        raise ValueError(f"'{rest}' is not expected")
    return value


def _flow(text, ends=""):
    """One value and the text after it; inside of a collection, `ends` are what ends a scalar."""
    text = text.lstrip()
    if text[:1] in ("{", "["):
        return _collection(text)
    if text[:1] == '"':
        value, end = json.JSONDecoder().raw_decode(text)
        return value, text[end:]
    if text[:1] == "'":
        quoted = re.match(r"'((?:[^']|'')*)'", text)
        if not quoted:
            raise ValueError(f"a quote of {text} is missing")
        return quoted[1].replace("''", "'"), text[quoted.end():]
    plain = re.match(f"[^{re.escape(ends)}]*", text)[0] if ends else text
    return _scalar(plain.strip()), text[len(plain):]


def _collection(text):
    is_map, close = text[0] == "{", {"{": "}", "[": "]"}[text[0]]
    found, rest = [], text[1:].lstrip()
    while rest[:1] != close:
        value, rest = _flow(rest, ",:{}[]" if is_map else ",[]{}")
        if is_map:
            if rest.lstrip()[:1] != ":":
                raise ValueError(f"a value is missing in {text}")
            inner, rest = _flow(rest.lstrip()[1:], ",{}[]")
            value = (value, inner)
        found.append(value)
        rest = rest.lstrip()
        if rest[:1] == ",":
            rest = rest[1:].lstrip()
        elif rest[:1] != close:
            raise ValueError(f"'{close}' is missing in {text}")
    return (dict(found) if is_map else found), rest[1:]


def _scalar(text):
    if text in _WORDS:
        return _WORDS[text]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text
