"""Saves a model from memory as tensors, then reads all of it and a part of it back.

Run it as `python3 tensors.py`.
"""

import array

from detcore import core

weights = array.array("f", [1, 2, 3, 4, 5, 6])  # or a NumPy array or a PyTorch tensor

with core.init() as context:
    with context.checkpoint.store({"steps_completed": 1}) as store:
        store.write_tensors({"weights": weights, "step": array.array("q", [1])})
    with context.checkpoint.restore(store.storage_id) as restore:
        tensors = restore.tensors()
        for name in tensors:
            print(f"{name}: {tensors.dtype(name)} {list(tensors.shape(name))}")
        last = array.array("f", [0, 0])
        tensors.read_into({"weights": core.TensorPart(last, offset=[4])})
        print(f"the last two: {list(last)}")
