"""Finds the class of a trial by its name in `entrypoint`: module:Class."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import itertools
import os
import pathlib
import re
import sys
from typing import TYPE_CHECKING, Any

from detcore.trial._errors import InvalidExperimentException
from detcore.trial._trial import Trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_FORM = re.compile(f"({_DOTTED}):({_DOTTED})")


def check_entrypoint(entrypoint: str) -> None:
    """Checks that the class can be found. It does not run any code of the trial, which takes
    seconds.

    It raises InvalidExperimentException with the reason if not.
    """
    module, name = _parts(entrypoint)
    names = _names_in(_module_spec(entrypoint, module))
    if names is not None and name.partition(".")[0] not in names[0]:
        raise _refused(entrypoint, _missing(module, name, names[1]))


def load_trial_class(entrypoint: str) -> type[Trial]:
    """Imports the class. It looks for the module in the working directory first.

    It raises InvalidExperimentException if the class is missing or is not a class of trials.
    """
    module, name = _parts(entrypoint)
    _module_spec(entrypoint, module)
    try:
        found: Any = importlib.import_module(module)
    except SystemExit as ended:
        raise _refused(
            entrypoint,
            f"importing {module} ended the program ({ended}); put what runs it under "
            "if __name__ == '__main__'",
        ) from ended
    trials = [n for n, value in vars(found).items() if _is_trial(value)]
    for part in name.split("."):
        if not hasattr(found, part):
            raise _refused(entrypoint, _missing(module, name, trials))
        found = getattr(found, part)
    if not _is_trial(found):
        kind = "a class, but not of a trial" if isinstance(found, type) else type(found).__name__
        raise _refused(
            entrypoint, f"{name} is {kind}; derive a class from TFKerasTrial or EstimatorTrial"
        )
    if found.trial_controller_class is None:
        raise _refused(
            entrypoint,
            f"{name} has no trial_controller_class, so that nothing could train it; derive it from "
            "TFKerasTrial or EstimatorTrial",
        )
    return found  # type: ignore[no-any-return]


def entrypoint_of(trial_class: type[Any]) -> str:
    """Returns the name by which the class is found again from the working directory."""
    module = trial_class.__module__
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if module == "__main__" and script is not None:
        path = os.path.relpath(os.path.splitext(script)[0])
        module = path.replace(os.sep, ".") if not path.startswith("..") else pathlib.Path(path).name
    return f"{module}:{trial_class.__qualname__}"


def _parts(entrypoint: str) -> tuple[str, str]:
    form = _FORM.fullmatch(entrypoint)
    if form is None:
        raise _refused(entrypoint, "it is not of the form module:Class, as model_def:MnistTrial")
    return form[1], form[2]


def _module_spec(entrypoint: str, module: str) -> ModuleSpec:
    spec = None
    for name in itertools.accumulate(module.split("."), "{}.{}".format):
        if spec is not None and spec.submodule_search_locations is None:
            spec = None  # a module has no submodules; it is not run to find that out
            break
        folders = None if spec is None else spec.submodule_search_locations
        # A package is run only if there is no other way, because that may take minutes.
        spec = _spec_in(name, folders) or importlib.util.find_spec(name)
        if spec is None:
            break
    if spec is not None:
        return spec
    folder = pathlib.Path.cwd()
    there = [p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    raise _refused(
        entrypoint,
        f"there is no module {module} in {folder} or on the path of Python"
        + _suggestion(module.removesuffix(".py"), there),
    )


def _spec_in(name: str, folders: Sequence[str] | None) -> ModuleSpec | None:
    if folders is None or name in sys.modules:
        return None
    found = (finder.find_spec(name, folders) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


def _names_in(spec: ModuleSpec) -> tuple[set[str], set[str]] | None:
    """Returns the names that the source of a module may bind, and the classes among them.

    None: the source does not show them.
    """
    if spec.origin is None or not spec.origin.endswith(".py"):
        return None
    try:
        nodes = list(ast.walk(ast.parse(pathlib.Path(spec.origin).read_bytes(), spec.origin)))
    except (OSError, SyntaxError, ValueError):
        return None  # the import of the module gives a better message
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    imports = [n for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom))]
    aliases = {alias.asname or alias.name for node in imports for alias in node.names}
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    if "*" in aliases or "__getattr__" in functions:
        return None
    stored = {node.id for node in nodes if isinstance(node, ast.Name)}
    return classes | aliases | functions | stored, classes


def _missing(module: str, name: str, classes: Iterable[str]) -> str:
    return f"there is no {name} in {module}{_suggestion(name, classes)}"


def _suggestion(name: str, there: Iterable[str]) -> str:
    by_case = {one.lower(): one for one in sorted(there)}
    near = difflib.get_close_matches(name.lower(), list(by_case), n=2)
    if near:
        return f"; did you mean {' or '.join(by_case[one] for one in near)}?"
    some = sorted(by_case.values())[:8]
    return f"; there are {', '.join(some)}" if some else ""


def _is_trial(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Trial)


def _refused(entrypoint: str, why: str) -> InvalidExperimentException:
    return InvalidExperimentException(f"the entrypoint {entrypoint!r}: {why}")
