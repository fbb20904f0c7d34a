"""core.Context.checkpoint: what is saved is whole or not there, and comes back as it was."""

from __future__ import annotations

import math
import os
import pathlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import PATIENCE
from detcore import core, errors
from detcore.core import DownloadMode, Progress

STEPS = {"steps_completed": 3}


@pytest.fixture
def context() -> Iterator[core.Context]:
    with core.init(config={"checkpoint_storage": {"save_trial_latest": 100}}) as context:
        yield context


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "nested/empty").mkdir(parents=True)
    (tmp_path / "root.txt").write_text("root")
    (tmp_path / "nested/inner").write_bytes(bytes(range(256)))
    return tmp_path


def tree(folder: pathlib.Path) -> dict[str, bytes | None]:
    """What a checkpoint has of the user's, by paths; None for a directory."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    own = {"metadata.json", ".detcore-manifest.json"}
    return {
        name: path.read_bytes() if path.is_file() else None
        for name, path in found.items()
        if name not in own
    }


def test_what_is_uploaded_comes_back(
    context: core.Context, files: pathlib.Path, store: pathlib.Path
) -> None:
    storage_id = context.checkpoint.upload(files, {**STEPS, "note": "é"})
    assert context.checkpoint.get_metadata(storage_id) == {**STEPS, "note": "é"}
    target = store.parent / "made"
    context.checkpoint.download(storage_id, str(target))
    assert tree(target) == tree(files)
    with context.checkpoint.restore_path(storage_id) as path:
        assert isinstance(path, pathlib.Path) and tree(path) == tree(files)


def test_selectors_see_paths_of_the_checkpoint(
    context: core.Context, files: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    seen: list[str] = []

    def select(path: str) -> bool:
        seen.append(path)
        return path.startswith("nested/in")

    storage_id = context.checkpoint.upload(os.fspath(files), STEPS, selector=select)
    assert {"root.txt", "nested/", "nested/empty/", "nested/inner"} <= set(seen)
    whole = context.checkpoint.upload(files, STEPS)
    for stored, chosen in ((storage_id, None), (whole, select)):
        target = tmp_path / f"to-{stored}"
        context.checkpoint.download(stored, target, selector=chosen)
        assert tree(target) == {"nested": None, "nested/inner": bytes(range(256))}


def test_progress_is_told(context: core.Context, files: pathlib.Path) -> None:
    told: list[Progress] = []
    storage_id = context.checkpoint.upload(files, STEPS, progress=told.append)
    assert told[-1].files == told[-1].total_files > 0
    assert told[-1].bytes == told[-1].total_bytes >= 260
    told.clear()
    context.checkpoint.download(storage_id, files / "to", progress=told.append)
    assert told[-1].bytes == told[-1].total_bytes >= 260
    told.clear()
    with context.checkpoint.store_path(STEPS, progress=told.append) as (path, _):
        (path / "file").write_text("x")
        assert not told
    assert told[-1].files >= 1


@pytest.mark.parametrize("raised", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("callback", ["selector", "progress"])
def test_what_a_callback_raises_ends_the_call(
    context: core.Context, files: pathlib.Path, callback: str, raised: type[BaseException]
) -> None:
    def fail(_: object) -> bool:
        raise raised("by the callback")

    whole = context.checkpoint.upload(files, STEPS)
    failing: dict[str, Any] = {callback: fail}
    with pytest.raises(raised, match="by the callback"):
        context.checkpoint.upload(files, STEPS, **failing)
    with pytest.raises(raised, match="by the callback"):
        context.checkpoint.download(whole, files / "to", **failing)
    assert [entry.storage_id for entry in context.checkpoint.list()] == [whole]


@pytest.mark.parametrize("saving", ["upload", "store_path"])
def test_ctrl_c_ends_a_save_at_once_and_nothing_is_stored(
    context: core.Context, files: pathlib.Path, saving: str
) -> None:
    begun, is_free = threading.Event(), threading.Event()

    def wait(_: Progress) -> None:
        if not begun.is_set():
            begun.set()
            os.kill(os.getpid(), signal.SIGINT)
        assert is_free.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        if saving == "upload":
            context.checkpoint.upload(files, STEPS, progress=wait)
        else:
            with context.checkpoint.store_path(STEPS, progress=wait) as (path, _):
                (path / "file").write_text("x")
    assert not is_free.is_set()
    is_free.set()
    whole = context.checkpoint.upload(files, STEPS)
    assert [entry.storage_id for entry in context.checkpoint.list()] == [whole]


def test_store_path_gives_a_directory_and_its_name(context: core.Context) -> None:
    with context.checkpoint.store_path(STEPS) as (path, storage_id):
        assert isinstance(path, pathlib.Path) and path.is_dir()
        (path / "model").write_text("weights")
        assert context.checkpoint.list() == []
    assert [entry.storage_id for entry in context.checkpoint.list()] == [storage_id]
    with context.checkpoint.restore_path(storage_id) as path:
        assert (path / "model").read_text() == "weights"


def test_saves_go_on_in_the_background(context: core.Context, files: pathlib.Path) -> None:
    checkpoint = context.checkpoint
    told: list[Progress] = []
    first = checkpoint.upload_async(files, {"steps_completed": 1}, progress=told.append)
    (files / "root.txt").write_text("changed")
    with checkpoint.store_async({"steps_completed": 2}) as store:
        (store.path / "weights").write_text("of the second")
        second = store.ticket
        with pytest.raises(errors.StateError, match="with"):
            second.wait()
    second.wait(timeout=PATIENCE)
    assert first.state == second.state == core.SaveState.Saved
    assert first.progress.files == first.progress.total_files > 0
    assert told
    assert [entry.storage_id for entry in checkpoint.list()] == [
        second.storage_id,
        first.storage_id,
    ]
    with pytest.raises(errors.StateError, match="saved before"):
        first.cancel()
    checkpoint.limit_saves(limit_bytes=1)
    with pytest.raises(errors.Error, match="limit_bytes"):
        checkpoint.upload_async(files, {"steps_completed": 3})


def test_a_block_that_fails_begins_no_save(context: core.Context) -> None:
    with pytest.raises(ZeroDivisionError), context.checkpoint.store_async(STEPS):
        raise ZeroDivisionError
    assert context.checkpoint.list() == []


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_in_store_path_drops_what_was_written(
    context: core.Context, raised: type[BaseException]
) -> None:
    exception = raised("of the user")
    with pytest.raises(raised) as caught, context.checkpoint.store_path(STEPS) as (path, _):
        (path / "model").write_text("half")
        raise exception
    assert caught.value is exception
    assert context.checkpoint.list() == [] and not path.exists()


def test_a_generator_that_stores_and_is_closed_drops_it(context: core.Context) -> None:
    def storing() -> Iterator[pathlib.Path]:
        with context.checkpoint.store_path(STEPS) as (path, _):
            yield path

    generator = storing()
    path = next(generator)
    generator.close()  # type: ignore[attr-defined]
    assert context.checkpoint.list() == [] and not path.exists()


def test_metadata_must_tell_the_steps(context: core.Context, files: pathlib.Path) -> None:
    for metadata in (None, {}, {"steps_completed": -1}, {"steps_completed": math.nan}):
        with pytest.raises(ValueError, match="steps_completed"):
            context.checkpoint.upload(files, metadata)
    with pytest.raises(ValueError, match="steps_completed"), context.checkpoint.store_path({}):
        pytest.fail("entered")
    for wrong in ([1], "text", STEPS.items(), b"{}"):
        with pytest.raises(TypeError, match="metadata"):
            context.checkpoint.upload(files, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"metadata.*object"):
        context.checkpoint.upload(files, {**STEPS, "x": object()})
    assert context.checkpoint.list() == []


def test_paths_and_names_must_be_such(context: core.Context, files: pathlib.Path) -> None:
    save, load = context.checkpoint.upload, context.checkpoint.download
    for wrong in (os.fsencode(files), 1, ["x"]):
        with pytest.raises(TypeError, match="ckpt_dir"):
            save(wrong, STEPS)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="storage_id"):
            load(wrong, files)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NUL"):
        save("a\0b", STEPS)
    with pytest.raises(RuntimeError, match="ckpt_dir"):
        save(None, STEPS)
    with pytest.raises(FileNotFoundError, match="absent"):
        save(files / "absent", STEPS)
    for missing in ("absent", "00000000-0000-4000-8000-000000000000"):
        with pytest.raises(FileNotFoundError, match=missing):
            load(missing, files / "to")
        with pytest.raises(errors.NotFoundError), context.checkpoint.restore_path(missing):
            pytest.fail("entered")
        with pytest.raises(LookupError):
            context.checkpoint.get_metadata(missing)
    for name in ("", "../x", ".hidden", "a/b"):
        with pytest.raises(ValueError, match="storage id"):
            load(name, files / "to")
    for not_callable in (1, "*.txt"):
        with pytest.raises(TypeError, match="selector"):
            save(files, STEPS, selector=not_callable)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="progress"):
            save(files, STEPS, progress=not_callable)  # type: ignore[arg-type]
    assert not (files / "to").exists()
    storage_id = save(files, STEPS)
    with pytest.raises(ValueError, match=r"root\.txt.*directory"):
        load(storage_id, files / "root.txt")


def test_modes_of_download(context: core.Context, files: pathlib.Path) -> None:
    assert DownloadMode.LocalWorkersShareDownload.value == "LOCAL_WORKERS_SHARE_DOWNLOAD"
    assert DownloadMode.NoSharedDownload.value == "NO_SHARED_DOWNLOAD"
    storage_id = context.checkpoint.upload(files, STEPS)
    context.checkpoint.download(storage_id, files / "to", DownloadMode.NoSharedDownload)
    assert "root.txt" in tree(files / "to")
    with pytest.raises(ValueError, match="DownloadMode"):
        context.checkpoint.download(storage_id, files / "other", "SOMEHOW")  # type: ignore[arg-type]


def test_what_is_deleted_is_gone(context: core.Context, files: pathlib.Path) -> None:
    first = context.checkpoint.upload(files, STEPS)
    second = context.checkpoint.upload(files, {"steps_completed": 9})
    entries = context.checkpoint.list()
    assert [(entry.storage_id, entry.steps_completed) for entry in entries] == [
        (second, 9),
        (first, 3),
    ]
    assert all(entry.size >= 260 and entry.time_us > 0 for entry in entries)
    context.checkpoint.delete(first)
    context.checkpoint.delete(first)
    assert [entry.storage_id for entry in context.checkpoint.list()] == [second]
    with pytest.raises(errors.NotFoundError):
        context.checkpoint.download(first, files / "to")


def test_a_run_goes_on_from_its_checkpoint(files: pathlib.Path) -> None:
    with core.init(external_id="again") as context:
        assert context.info.latest_checkpoint is None
        saved = context.checkpoint.upload(files, STEPS)
    with core.init(external_id="again") as context:
        assert context.info.latest_checkpoint == saved
        assert context.info.trial.steps_completed == 3
        assert context.info.trial.trial_run_id == 2


def test_storage_of_ones_own(files: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for given in (tmp_path / "a", str(tmp_path / "b"), f"file://{tmp_path / 'c'}"):
        with core.init(checkpoint_storage=given) as context:
            storage_id = context.checkpoint.upload(files / "nested", STEPS)
        folder = pathlib.Path(str(given).replace("file://", ""), storage_id)
        assert (folder / "inner").exists()
    made = {"type": "directory", "container_path": str(tmp_path / "d")}
    with core.init(checkpoint_storage=made) as context:
        storage_id = context.checkpoint.upload(files / "nested", STEPS)
    assert (tmp_path / "d" / storage_id / "inner").exists()
