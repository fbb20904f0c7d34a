"""Keeps the variables of optimizers in a file of HDF5, in the layout of Keras."""

from __future__ import annotations

import functools
import io
import itertools
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from detcore.keras._tensorflow import tf

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Container, Sequence

_log = logging.getLogger("detcore.keras")
_GROUP = "optimizer_weights"
_KEYS = "checkpoint_keys"
_ATTRIBUTE_BYTES = 64_000


class _About(NamedTuple):
    """Everything of an optimizer except the values of its variables."""

    learning_rate: float | None
    built_for: tuple[int, ...]
    names: tuple[str, ...]
    keys: tuple[str, ...]


def save(path: pathlib.Path, optimizers: Sequence[Any], model: Any, weights: pathlib.Path) -> None:
    """Saves each optimizer as a group optimizer-<i>.

    Beside Keras' own facts it keeps the learning rate, and the variables of the model that the
    optimizer was built for. `weights` is the file of the model. Values that are there are not
    written again, only their place is. That halves the time.
    """
    import h5py  # comes with TensorFlow

    there = tf.train.load_checkpoint(str(weights)).get_variable_to_dtype_map()
    abouts = tuple(_about(optimizer, model, there) for optimizer in optimizers)
    path.write_bytes(_without_values(abouts))
    alone = [i for i, about in enumerate(abouts) if about.names and not about.keys]
    if not alone:
        return
    with h5py.File(path, "r+") as file:
        for number in alone:
            values = file[f"optimizer-{number}/{_GROUP}"]
            variables = variables_of(optimizers[number])
            for variable, value in zip(variables, values_of(variables)):
                values.create_dataset(variable.name, data=value)


def _about(optimizer: Any, model: Any, there: Container[str]) -> _About:
    rate = learning_rate_of(optimizer)
    variables = variables_of(optimizer)
    keys = _keys(optimizer, variables) if optimizer is model.optimizer else []
    return _About(
        None if rate is None else float(values_of([rate])[0]),
        tuple(_built_for(optimizer, model)) if variables else (),
        tuple(variable.name for variable in variables),
        tuple(keys) if all(key in there for key in keys) else (),
    )


@functools.lru_cache(maxsize=1)
def _without_values(abouts: tuple[_About, ...]) -> bytes:
    """Returns the file without values. Most checkpoints of a run have the same one.

    HDF5 takes as long for it as a small model takes for its weights.
    """
    import h5py

    image = io.BytesIO()
    with h5py.File(image, "w") as file:
        for number, about in enumerate(abouts):
            group = file.create_group(f"optimizer-{number}")
            if about.learning_rate is not None:
                group.attrs["learning_rate"] = about.learning_rate
            if not about.names:
                continue
            group.attrs["built_for"] = about.built_for
            values = group.create_group(_GROUP)
            _put_texts(values, "weight_names", about.names)
            if about.keys:
                _put_texts(values, _KEYS, about.keys)
    return image.getvalue()


def load(path: pathlib.Path, optimizers: Sequence[Any], model: Any, weights: pathlib.Path) -> None:
    """Loads the optimizers. One that does not fit starts anew, with a warning.

    A trial may resume with another optimizer.
    """
    # It has no variables yet: its own optimizer comes with its weights.
    if not model.built or not model.trainable_variables:
        return
    import h5py

    with h5py.File(path, "r") as file:
        if _GROUP in file:  # the file of a whole model
            _load(file, optimizers[0], model, weights)
        for number, optimizer in enumerate(optimizers):
            if f"optimizer-{number}" in file:
                _load(file[f"optimizer-{number}"], optimizer, model, weights)


def _load(group: Any, optimizer: Any, model: Any, weights: pathlib.Path) -> None:
    try:
        if _GROUP in group:
            values = _values(group[_GROUP], weights)
            build(optimizer, _among(model.trainable_variables, group.attrs.get("built_for")))
            _set(optimizer, values)
        rate = learning_rate_of(optimizer)
        if rate is not None and "learning_rate" in group.attrs:
            assign([rate], [group.attrs["learning_rate"]])
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        _log.warning(
            "The state of the optimizer %s is not that of the checkpoint (%s); it begins anew.",
            type(optimizer).__name__,
            failure,
        )


def _values(group: Any, weights: pathlib.Path) -> list[Any]:
    keys = _texts(group, _KEYS)
    if keys:
        reader = tf.train.load_checkpoint(str(weights))
        return [reader.get_tensor(key) for key in keys]
    return [np.asarray(group[name]) for name in _texts(group, "weight_names")]


def _keys(optimizer: Any, variables: list[Any]) -> list[str]:
    """Returns the names of variables in a checkpoint of TensorFlow. [] if they are not known."""
    tracked = getattr(optimizer, "_variables", None)
    if _is_legacy(optimizer) or not isinstance(tracked, (list, tuple)):
        return []
    keys = {id(variable): f"_variables/{number}" for number, variable in enumerate(tracked)}
    keys[id(optimizer.iterations)] = "_iterations"
    known = [keys.get(id(variable)) for variable in variables]
    if None in known:
        return []
    return [f"optimizer/{key}/.ATTRIBUTES/VARIABLE_VALUE" for key in known]


def _put_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    """Writes an attribute of texts. One has at most 64 KiB, so it may take several, as in Keras."""
    encoded = [text.encode() for text in texts]
    most = max(1, _ATTRIBUTE_BYTES // max(map(len, encoded)))
    if len(encoded) <= most:
        group.attrs[name] = encoded
        return
    for number, begin in enumerate(range(0, len(encoded), most)):
        group.attrs[f"{name}{number}"] = encoded[begin : begin + most]


def _texts(group: Any, name: str) -> list[str]:
    if name in group.attrs:
        found = list(group.attrs[name])
    else:
        chunks = itertools.takewhile(
            group.attrs.__contains__, map(f"{name}{{}}".format, itertools.count())
        )
        found = [text for chunk in chunks for text in group.attrs[chunk]]
    return [text.decode() if isinstance(text, bytes) else str(text) for text in found]


def _is_legacy(optimizer: Any) -> bool:
    return isinstance(optimizer, tf.keras.optimizers.legacy.Optimizer)


def variables_of(optimizer: Any) -> list[Any]:
    """Returns the variables that the optimizer has now, except its learning rate."""
    if _is_legacy(optimizer):
        return list(optimizer.weights)
    variables = optimizer.variables
    variables = variables() if callable(variables) else variables  # a method in some releases
    rate = learning_rate_of(optimizer)
    return [variable for variable in variables if variable is not rate]


def _set(optimizer: Any, values: list[Any]) -> None:
    variables = variables_of(optimizer)
    shapes = [tuple(variable.shape) for variable in variables]
    if shapes != [value.shape for value in values]:
        raise ValueError(f"it has {len(shapes)} variables, and the checkpoint {len(values)} others")
    assign(variables, values)


def values_of(variables: Sequence[Any]) -> list[Any]:
    """Returns the values as arrays. Without eager execution they are in a session."""
    found: list[Any] = tf.keras.backend.batch_get_value(variables)
    return found


def assign(variables: Sequence[Any], values: Sequence[Any]) -> None:
    tf.keras.backend.batch_set_value(list(zip(variables, values)))


def learning_rate_of(optimizer: Any) -> Any:
    """Returns the variable of the learning rate. None if it follows a schedule."""
    rate = getattr(optimizer, "_learning_rate", None)
    if _is_legacy(optimizer):
        rate = optimizer.learning_rate
    return rate if isinstance(rate, tf.Variable) else None


def _built_for(optimizer: Any, model: Any) -> list[int]:
    if _is_legacy(optimizer):
        return list(range(len(model.trainable_variables)))
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a loss scale
    known = getattr(optimizer, "_index_dict", {})
    numbered = enumerate(model.trainable_variables)
    return [number for number, variable in numbered if optimizer._var_key(variable) in known]


def _among(variables: Any, numbers: Any) -> Any:
    return variables if numbers is None else [variables[number] for number in numbers]


def build(optimizer: Any, variables: Any) -> None:
    """Makes the optimizer's variables for these. Existing ones stay unchanged."""
    if _is_legacy(optimizer):
        _ = optimizer.iterations
        optimizer._create_all_weights(variables)
    elif variables:
        optimizer.build(variables)
