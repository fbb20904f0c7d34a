#!/usr/bin/env python3
"""Checks the arrows of docs/conventions.md: an include points down only, nothing but the engine knows
the store, product code includes nothing of tests, each room has its namespace, no two headers have
one name, ./test has each room, no folder and no class is too large to see, and no modules of the Python
package import each other in a circle. Prints how many headers have one user."""

import ast
import collections
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
failures = []
most_files, most_methods = 40, 25  # in a folder, of a class
headers = {}  # by name, the first that has it

arrows = re.search(r"`([^`]*→[^`]*)`", (root / "docs/conventions.md").read_text()).group(1)
levels = [re.findall(r"\w+", level) for level in arrows.split("→")]
height = {room: len(levels) - level for level, rooms in enumerate(levels) for room in rooms}

sql = re.compile(
    r"\b(SELECT|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|(CREATE|ALTER|DROP) TABLE|PRAGMA|"
    r"(BEGIN|COMMIT|ROLLBACK)\b( IMMEDIATE)?[\";])"
)
store = re.compile(r"\b(Database|Transaction|open_store)\b")


def room_of(path):
    if path.startswith("core/"):
        return path.split("/")[1]
    return path.split("/")[1 if path.startswith("wrappers/") else 0]


def look_at(path):
    room = room_of(path)
    text = re.sub(r"//.*", "", (root / path).read_text())
    for number, line in enumerate(text.splitlines(), 1):
        def tell(problem):
            failures.append(f"{path}:{number}: {problem}")

        namespace = re.match(r"(?:inline )?namespace (det(?:::\w+)*) ", line)
        own = {"base": "det", "cli": "det::cli"}.get(room, f"det::{room}")
        if namespace and room != "capi" and namespace.group(1) != own:
            tell(f"the namespace of this room is {own}")

        include = re.match(r'#include [<"]([^>"]+)[>"]', line)
        if include:
            name = include.group(1)
            other = room_of(name) if name.startswith("core/") else room
            if other not in height:
                tell(f"docs/conventions.md has no room {other}")
            elif other != room and height[other] >= height[room]:
                tell(f"{room} includes a header of {other}, and the arrows of docs/conventions.md do not lead there")
            if name.startswith("tests/"):
                tell("product code must not include a header of tests")
            if name.startswith("det/") and path.startswith("core/"):
                tell("core must not include a public header")
            if name == "sqlite3.h" and not path.startswith("core/engine/sqlite/"):
                tell("only core/engine/sqlite may include sqlite3.h")
            if name.startswith("core/engine/sqlite/") and room != "engine":
                tell("only core/engine may include headers of core/engine/sqlite")
        elif room != "engine" and sql.search(line):
            tell("SQL belongs in core/engine")
        elif room not in ("engine", "base") and store.search(re.sub(r'"[^"]*"', '""', line)):
            tell("only core/engine may use Database, Transaction and open_store")


def look_at_folders():
    """A folder is a floor: who opens it sees what is on it."""
    files = collections.Counter(path.parent for path in product_files())
    for folder, count in sorted(files.items()):
        if count > most_files:
            failures.append(f"{folder.relative_to(root)} has {count} files; at most {most_files} are allowed")


def product_files():
    for folder in ["core", "capi", "include", "wrappers"]:
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def users_of_headers():
    """By header of ours: the files that include it, other than the one that it declares things of."""
    users = {path: set() for path in headers.values()}
    for folder in ["core", "capi", "wrappers", "tests"]:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".c", ".cu", ".h"):
                continue
            for name in re.findall(r'^ *# *include "([^"]+)"', path.read_text(), re.MULTILINE):
                header = headers.get(Path(name).name)
                if header and header.with_suffix("") != path.with_suffix(""):
                    users[header].add(path)
    return users


def look_at_classes(path):
    """A class has one duty. One with more methods than most says why in the comment above it."""
    text = path.read_text()
    for name, count in methods_of_classes(text):
        reason = rf"More than {most_methods} methods:.*\n(//.*\n)*(class|struct) {name}\b"
        if count > most_methods and not re.search(reason, text):
            failures.append(
                f"{path.relative_to(root)}: {name} has {count} methods; split it by duty, or say above it: "
                f"'More than {most_methods} methods: REASON'"
            )


def methods_of_classes(text):
    """By class, how many functions it declares outside of its members' bodies; roughly."""
    text = re.sub(r'//.*|"[^"\n]*"', "", text)
    for match in re.finditer(r"^(?:class|struct) (\w+)[^;{]*\{", text, re.MULTILINE):
        depth, at, body = 1, match.end(), []
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            body.append(text[at] if depth == 1 else ";" if text[at] == "}" else "")
            at += 1
        named = re.findall(r"(?<!~)\b(\w+|operator[^\s(]+)\([^;]*;", "".join(body))
        yield match.group(1), sum(name != match.group(1) for name in named)


def imports_of(module, path, modules):
    """The modules of the package that it names, also within functions and for types alone."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            for _ in range(node.level - 1):
                package = package.rpartition(".")[0]
            base = ".".join(filter(None, [package if node.level else "", node.module]))
            inner = {f"{base}.{alias.name}" for alias in node.names}
            names = inner & modules.keys() or [base]
        yield from (name for name in names if name in modules and name != module)


def circles(graph):
    """The sets of nodes that reach each other (Tarjan's)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            circle = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(circle) > 1:
                found.append(circle)

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def look_at_python(package):
    modules = {}
    for path in package.rglob("*.py"):
        name = path.relative_to(package.parent).with_suffix("")
        modules[".".join(name.parts).removesuffix(".__init__")] = path
    graph = {name: set(imports_of(name, path, modules)) for name, path in modules.items()}
    for circle in circles(graph):
        failures.append(f"{package.relative_to(root)}: these import each other: {', '.join(sorted(circle))}")


for folder in ["core", "capi", "wrappers/cli", "wrappers/nn", "wrappers/keras"]:
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in (".cc", ".h"):
            look_at(path.relative_to(root).as_posix())
        if path.suffix == ".h" and headers.setdefault(path.name, path) != path:
            failures.append(f"{path.relative_to(root)}: {headers[path.name].relative_to(root)} has the same name")

parts = re.search(r'^rooms="([^"]*)"', (root / "test").read_text(), re.MULTILINE).group(1).split()
for room in sorted(path.name for path in (root / "core").iterdir() if path.is_dir()):
    if room not in parts:
        failures.append(f"./test has no part for the room {room}")

look_at_folders()
look_at_python(root / "wrappers/python/detcore")
single = [header for header, users in users_of_headers().items() if len(users) <= 1]
print(f"{len(single)} of {len(headers)} headers have one user")
for path in sorted(headers.values()):
    look_at_classes(path)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
