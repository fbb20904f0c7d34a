#!/usr/bin/env python3
"""Writes detcore/_abi.py, what ctypes must know of the library, from the public headers.

Usage: generate_abi.py [--check]; with --check it changes nothing and fails when the file is not
what the headers say. Needs a C preprocessor and pycparser.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pycparser import c_ast, c_parser

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
MODULE = HERE / "detcore" / "_abi.py"
HEAD = '''\
"""Structs, constants and prototypes of libdetcore. Made by generate_abi.py: do not edit."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import Any
'''

# What the headers include, reduced to what pycparser needs to know of it.
SCALARS = {
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
    "int64_t": "c_int64",
    "size_t": "c_size_t",
    "double": "c_double",
    "float": "c_float",
    "char": "c_char",
}
SYSTEM_HEADERS = {
    "stddef.h": "typedef unsigned long size_t;\n",
    "stdint.h": "typedef int int32_t; typedef unsigned int uint32_t; typedef long int64_t;\n",
}


def preprocessed(*options):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in SYSTEM_HEADERS.items():
            (Path(folder) / name).write_text(text)
        command = [
            "cc",
            "-E",
            "-P",
            "-undef",
            "-nostdinc",
            "-I",
            folder,
            "-I",
            INCLUDE,
            *options,
            "-",
        ]
        return subprocess.run(
            command, input="#include <det/core.h>\n", capture_output=True, check=True, text=True
        ).stdout


class Translator:
    def __init__(self, tree):
        self.aliases = dict(SCALARS)
        self.opaque, self.structs, self.callbacks = set(), set(), set()
        self.lines, self.prototypes = [], []
        for node in tree.ext:
            self.top_level(node)

    def top_level(self, node):
        if isinstance(node, c_ast.Typedef):
            self.typedef(node.name, node.type)
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            result, parameters = self.signature(node.type)
            self.prototypes.append(
                f'    "{node.name}": ({result}, ({"".join(p + ", " for p in parameters)})),'
            )

    def typedef(self, name, kind):
        if name in SCALARS:
            return
        if isinstance(kind, c_ast.PtrDecl) and isinstance(kind.type, c_ast.FuncDecl):
            result, parameters = self.signature(kind.type)
            self.callbacks.add(name)
            self.lines.append(f"{name} = CFUNCTYPE({', '.join([result, *parameters])})")
        elif not isinstance(kind.type, c_ast.Struct):
            self.aliases[name] = self.python_type(kind)
        elif kind.type.decls is None:
            self.opaque.add(name)
        else:
            self.structs.add(name)
            self.lines += ["", "", f"class {name}(Structure):", "    _fields_ = ("]
            self.lines += [
                f'        ("{field.name}", {self.python_type(field.type)}),'
                for field in kind.type.decls
            ]
            self.lines += ["    )", "", ""]

    def signature(self, function):
        parameters = [self.python_type(parameter.type) for parameter in function.args.params]
        return self.python_type(function.type), [] if parameters == ["None"] else parameters

    def python_type(self, kind):
        if isinstance(kind, c_ast.TypeDecl):
            name = " ".join(kind.type.names)
            if name == "void":
                return "None"
            return name if name in self.structs | self.callbacks else self.aliases[name]
        if isinstance(kind, c_ast.ArrayDecl):
            return f"{self.python_type(kind.type)} * {kind.dim.value}"
        if isinstance(kind.type, c_ast.FuncDecl):
            result, parameters = self.signature(kind.type)
            return f"CFUNCTYPE({', '.join([result, *parameters])})"
        if isinstance(kind.type, c_ast.TypeDecl):
            name = " ".join(kind.type.type.names)
            if name == "void" or name in self.opaque:
                return "c_void_p"
            if (
                name == "char"
            ):  # text that the library gives away must keep its address, to be freed
                return "c_char_p" if "const" in kind.type.quals else "c_void_p"
        return f"POINTER({self.python_type(kind.type)})"


def constants():
    """Macros that are numbers, whatever their arithmetic; the version's are among them."""
    found = {}
    for line in preprocessed("-dM").splitlines():
        match = re.fullmatch(r"#define (DET_[A-Z0-9_]+) (\(?[-+*() 0-9A-Z_]+\)?)", line)
        if match:
            found[match[1]] = match[2]
    numbers = {}
    for name in sorted(found):
        text = found[name]
        while re.search("[A-Z]", text):
            text = re.sub(r"DET_[A-Z0-9_]+", lambda use: found[use[0]], text)
        numbers[name] = eval(text, {"__builtins__": {}})  # digits and operators of our own headers
    return [f"{name} = {number}" for name, number in numbers.items()]


def module():
    translator = Translator(c_parser.CParser().parse(preprocessed("-DDET_API=")))
    text = "\n".join(
        [
            HEAD,
            *constants(),
            "",
            *translator.lines,
            "",
            "# Of each function: what it returns, and its parameters.",
            "PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {",
            *translator.prototypes,
            "}",
            "",
        ]
    )
    return re.sub(r"\n{4,}", "\n\n\n", text)


def main():
    text = module()
    if "--check" not in sys.argv[1:]:
        MODULE.write_text(text)
    elif MODULE.read_text() != text:
        sys.exit(f"{MODULE} is not what the headers say: run {Path(__file__).name}")


if __name__ == "__main__":
    main()
