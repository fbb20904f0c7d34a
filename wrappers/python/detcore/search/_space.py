"""Converts the hyperparameters of a configuration to a search space of Optuna."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from detcore._json import encode

_SCALARS = (bool, int, float, str, type(None))


class Space:
    """A search space. Nested hyperparameters have dotted names in it. Constants are not part of
    it."""

    def __init__(self, hyperparameters: Mapping[str, Any]) -> None:
        self.distributions: dict[str, BaseDistribution] = {}
        self._constants: dict[tuple[str, ...], Any] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._by_text: set[str] = set()
        for path, value in _leaves(hyperparameters, ()):
            self._add(path, value)

    def hparams(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the hyperparameters of a trial for the `params` of Optuna."""
        hparams: dict[str, Any] = {}
        for path, value in self._constants.items():
            _put(hparams, path, value)
        for name, path in self._paths.items():
            value = params[name]
            _put(hparams, path, json.loads(value) if name in self._by_text else value)
        return hparams

    def _add(self, path: tuple[str, ...], value: Any) -> None:
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind is None or kind == "const":
            self._constants[path] = value if kind is None else value["val"]
            return
        name = ".".join(path)
        if name in self._paths:
            raise ValueError(f"hyperparameters: there are two named {name}")
        try:
            self.distributions[name] = self._distribution(name, kind, value)
        except (KeyError, TypeError, ValueError) as failure:
            raise ValueError(f"hyperparameters.{name}: {failure!r} in {value}") from failure
        self._paths[name] = path

    def _distribution(self, name: str, kind: str, value: Mapping[str, Any]) -> BaseDistribution:
        if kind == "categorical":
            return CategoricalDistribution(self._choices(name, value["vals"]))
        if kind not in ("int", "double", "log"):
            raise ValueError(f"the type {kind!r} is unknown")
        least, greatest = value["minval"], value["maxval"]
        if kind == "int":
            return IntDistribution(least, greatest)
        if kind == "double":
            return FloatDistribution(least, greatest)
        ends = sorted(float(value["base"]) ** exponent for exponent in (least, greatest))
        return FloatDistribution(ends[0], ends[1], log=True)

    def _choices(self, name: str, values: list[Any]) -> list[Any]:
        # Optuna stores scalars, and merges those that are equal, such as 1 and true.
        if all(isinstance(value, _SCALARS) for value in values) and len(set(values)) == len(values):
            return values
        self._by_text.add(name)
        return [encode(value, f"hyperparameters.{name}").decode() for value in values]


def _leaves(values: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yields single hyperparameters. A group is an object without a `type`."""
    for name, value in values.items():
        if isinstance(value, Mapping) and "type" not in value and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _put(hparams: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        hparams = hparams.setdefault(name, {})
    hparams[path[-1]] = value
