"""Checkpoints in storage without a run."""

from __future__ import annotations

from pathlib import Path

import detcore
import pytest
from detcore import errors
from detcore.core import Progress
from detcore.storage import Location, Storage


def test_a_checkpoint_goes_from_storage_to_storage(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "layers").mkdir(parents=True)
    (model / "layers/0").write_text("weights")
    near = Storage(tmp_path / "near")
    far = Storage({"type": "directory", "container_path": str(tmp_path / "far")})
    told: list[Progress] = []
    storage_id = near.upload(model, {"steps_completed": 7}, progress=told.append)
    assert told[-1].files == told[-1].total_files == 2
    assert sorted(near.list(storage_id)) == ["layers/", "layers/0", "metadata.json"]
    assert not (model / "metadata.json").exists()
    near.copy(storage_id, far)
    near.delete(storage_id)
    with pytest.raises(errors.NotFoundError):
        near.verify(storage_id)
    far.verify(storage_id)
    far.download(storage_id, tmp_path / "back", selector=lambda path: path.startswith("layers"))
    assert (tmp_path / "back/layers/0").read_text() == "weights"
    assert far.config() == {"type": "directory", "container_path": str(tmp_path / "far")}


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_text("weights")
    storage = Storage(str(tmp_path / "stored"))
    storage_id = storage.upload(tmp_path / "model")
    (tmp_path / "stored" / storage_id / "weights").write_text("Weights")
    with pytest.raises(errors.CorruptError, match="weights"):
        storage.verify(storage_id)
    with pytest.raises(errors.CorruptError, match="weights"):
        storage.copy(storage_id, Storage(tmp_path / "copy"))
    assert not (tmp_path / "copy" / storage_id).exists()


def test_wrong_locations_and_ids_are_refused(tmp_path: Path) -> None:
    locations: list[Location] = ["", "ftp://host/x", {"type": "tape"}, {"type": "directory"}]
    for location in locations:
        with pytest.raises(detcore.Error):
            Storage(location)
    with pytest.raises(TypeError):
        Storage(None)  # type: ignore[arg-type]
    storage = Storage(tmp_path)
    for wrong in ["../x", "", ".partial", "a/b"]:
        with pytest.raises(errors.InvalidArgumentError):
            storage.delete(wrong)
    with pytest.raises(errors.InvalidArgumentError):
        storage.copy("", storage)
