"""What is not quite YAML is refused where PyYAML refuses it, and read where it reads it."""

from __future__ import annotations

import json
import random

import yaml
from conftest import ROOT
from detcore import _capi

SEED, CASES = 1, 1500
EVERYTHING = """# a comment
name: "quoted: text"
description: 'it''s'
labels: [a, "b", c]
bind_mounts:
  - host_path: /a
    container_path: &x /b
  - {host_path: /c, container_path: *x}
hyperparameters:
  <<: {lr: 0.1}
  text: |
    line one
     two
  folded: >-
    a
    b
  vals: {type: categorical, vals: [1, 2.5e-3, null, "x"]}
searcher:
  name: single
  metric: loss
  max_length:
    batches: 100
"""
INSERTED: list[str] = [
    *"-:?[]{},#&*!|>'\"%@`\n \t\\~",
    ": ",
    "- ",
    "\n  ",
    " #",
    "\n---\n",
    "\n...\n",
]
# What is wrong with a text that is YAML: no parser sees it.
BEYOND_SYNTAX = ("alias", "a key must", "merge key", "no number", "its tag", "more than")


def mutated(source: random.Random, text: str) -> str:
    lines = text.split("\n")
    line = source.randrange(len(lines))
    at = source.randrange(len(text) + 1)
    kind = source.randrange(6)
    if kind == 0:
        return text[:at] + source.choice(INSERTED) + text[at:]
    if kind == 1:
        return text[:at] + text[at + source.randint(1, 3) :]
    if kind == 2:
        return text[:at]
    if kind == 3:
        lines[line] = " " * source.randint(0, 4) + lines[line].lstrip()
    elif kind == 4:
        lines[line] = lines[line].replace(":", "", 1)
    else:
        lines.insert(line, source.choice(lines))
    return "\n".join(lines)


def refusal(text: str) -> str | None:
    """What our reader says against a text that is no YAML."""
    for problem in json.loads(_capi.text("det_config_check", text.encode(), None)):
        if problem["kind"] == "yaml":
            assert problem["line"] > 0
            return str(problem["message"])
    return None


def is_yaml(text: str) -> bool:
    """Whether the first document is, and what follows it is nothing or another one."""
    documents = 0
    is_ended = False
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents == 2:
                return True
            if isinstance(event, yaml.DocumentEndEvent):
                is_ended = bool(event.explicit)
    except yaml.YAMLError:
        return is_ended
    return True


def test_yaml_is_refused_where_pyyaml_refuses_it() -> None:
    source = random.Random(SEED)
    seeds = [EVERYTHING, *(path.read_text() for path in sorted(ROOT.glob("examples/*/*.yaml")))]
    differences = []
    refused = 0
    for _ in range(CASES):
        text = source.choice(seeds)
        for _ in range(source.randint(1, 3)):
            text = mutated(source, text)
        said = refusal(text)
        if said is not None and any(words in said for words in BEYOND_SYNTAX):
            continue
        refused += said is not None
        if is_yaml(text) != (said is None):
            differences.append((text, said))
    assert not differences, differences[0]
    assert CASES / 4 < refused < CASES * 3 / 4
