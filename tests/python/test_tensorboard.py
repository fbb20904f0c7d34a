"""What the library writes, read back by TensorBoard itself."""

from __future__ import annotations

import io
import os
import pathlib
import random
import signal
import subprocess
import sys
import warnings
from typing import Any

import numpy
import PIL.Image
import pytest
from boards import ask, awaited, read, records, started
from conftest import Det
from detcore import core
from detcore.errors import InvalidArgumentError
from experiments import QUICK, run_experiment

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tensorboard.backend.event_processing import event_file_loader
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
    from tensorboard.util import tensor_util


@pytest.fixture
def board(store: pathlib.Path) -> Any:
    """A run, and what TensorBoard says of it after its end."""
    return Board()


class Board:
    def __init__(self) -> None:
        self.context = core.init()
        self.add = self.context.tensorboard

    def end(self) -> Any:
        path = self.context.train.get_tensorboard_path()
        self.context.close()
        return read(path)


def test_scalars_stand_beside_the_metrics(board: Board) -> None:
    board.context.train.report_training_metrics(1, {"loss": 0.25})
    values: list[Any] = [0.5, -1e30, float("inf"), numpy.float32(2)]
    for step, value in enumerate(values):
        board.add.add_scalar("own/value", value, step)
    found = board.end()
    assert sorted(found.Tags()["scalars"]) == ["Determined/loss", "own/value"]
    points = [(point.step, point.value) for point in found.Scalars("own/value")]
    assert points == [(0, 0.5), (1, numpy.float32(-1e30)), (2, float("inf")), (3, 2.0)]


def bucket_limits() -> Any:
    """Those that TensorFlow documents."""
    above = []
    limit = 1e-12
    while limit < 1e20:
        above.append(limit)
        limit *= 1.1
    top = sys.float_info.max
    return numpy.array([-top, *[-limit for limit in reversed(above)], 0, *above, top])


def edge_values() -> Any:
    limits = bucket_limits()
    return numpy.concatenate([limits, limits[1:-1] * (1 + 1e-15), [-0.0, 5e-324, -5e-324, 1e300]])


@pytest.mark.parametrize(
    "values",
    [
        numpy.random.default_rng(1).normal(size=10_000),
        numpy.random.default_rng(2).normal(size=(10, 20, 5)).astype(numpy.float32),
        numpy.array([0.5, 1, 2], numpy.float16),
        numpy.arange(-50, 50),
        numpy.zeros(10),
        [3.5],
        (1, 2, 2),
        edge_values(),
    ],
    ids=["normal", "float", "half", "integers", "zeros", "one", "tuple", "edges"],
)
def test_histograms_count_every_value(board: Board, values: Any) -> None:
    board.add.add_histogram("weights", values, 7)
    (event,) = board.end().Histograms("weights")
    flat = numpy.asarray(values, numpy.float64).reshape(-1)
    found = event.histogram_value
    with numpy.errstate(over="ignore"):
        assert (found.min, found.max, found.num) == (flat.min(), flat.max(), flat.size)
        assert found.sum == pytest.approx(flat.sum(), abs=1e-9 * abs(flat).max())
        assert found.sum_squares == pytest.approx((flat * flat).sum())
    limits = bucket_limits()
    places = numpy.searchsorted(limits, flat, side="right").clip(max=limits.size - 1)
    expected = numpy.bincount(places, minlength=limits.size)
    begin, end = places.min(), places.max() + 1
    assert found.bucket_limit == limits[begin:end].tolist()
    assert found.bucket == expected[begin:end].tolist()
    assert event.step == 7


def test_histograms_of_torch_are_those_of_their_values(board: Board) -> None:
    torch = pytest.importorskip("torch")
    weights = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
    board.add.add_histogram("weights", weights.requires_grad_(), 1)
    board.add.add_histogram("half", weights.to(torch.bfloat16), 1)
    found = board.end()
    for tag in "weights", "half":
        (event,) = found.Histograms(tag)
        assert (event.histogram_value.num, event.histogram_value.sum) == (12, 66)


def test_histograms_that_the_caller_counted_stay_as_they_are(board: Board) -> None:
    board.add.add_histogram_raw("raw", 0.5, 9, 6, 20, 80, [1, 5, 10], [2, 3, 1], 1)
    with pytest.raises(ValueError, match="as many"):
        board.add.add_histogram_raw("raw", 0.5, 9, 6, 20, 80, [1, 5, 10], [2, 3], 1)
    with pytest.raises(InvalidArgumentError, match="ascend"):
        board.add.add_histogram_raw("raw", 0.5, 9, 6, 20, 80, [1, 5, 4], [2, 3, 1], 1)
    (event,) = board.end().Histograms("raw")
    found = event.histogram_value
    assert (found.min, found.max, found.num, found.sum, found.sum_squares) == (0.5, 9, 6, 20, 80)
    assert (list(found.bucket_limit), list(found.bucket)) == ([1, 5, 10], [2, 3, 1])


def test_texts_are_those_of_the_text_plugin(board: Board) -> None:
    text = "# A title\n\n*ünï* \U0001f600 " + "x" * 100_000
    board.add.add_text("note", text, 3)
    found = board.end()
    assert found.SummaryMetadata("note").plugin_data.plugin_name == "text"
    (event,) = found.Tensors("note")
    assert tensor_util.make_ndarray(event.tensor_proto).item().decode() == text


def png_of(image: Any) -> bytes:
    out = io.BytesIO()
    PIL.Image.fromarray(image).save(out, "PNG")
    return out.getvalue()


def jpeg_of(image: Any) -> bytes:
    out = io.BytesIO()
    PIL.Image.fromarray(image).save(out, "JPEG", exif=b"Exif\0\0" + b"x" * 3000, progressive=True)
    return out.getvalue()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (301, 257)])
def test_pixels_become_a_png_file(board: Board, size: tuple[int, int], channels: int) -> None:
    image = numpy.random.default_rng(3).integers(0, 256, (*size, channels), numpy.uint8)
    board.add.add_image("image", image, 1, dataformats="HWC")
    (event,) = board.end().Images("image")
    assert (event.height, event.width) == size
    opened = PIL.Image.open(io.BytesIO(event.encoded_image_string))
    opened.load()
    found = numpy.asarray(opened).reshape(image.shape)
    assert (found == image).all()


def test_images_may_be_given_in_other_forms(board: Board) -> None:
    grey = numpy.arange(12, dtype=numpy.uint8).reshape(3, 4)
    colours = numpy.stack([grey, grey + 100, grey + 200])
    png, jpeg = png_of(grey), jpeg_of(colours.transpose(1, 2, 0).copy())
    board.add.add_image("grey", grey, 1, dataformats="HW")
    board.add.add_image("colours", colours, 1)
    board.add.add_image("floats", colours / 255, 1)
    board.add.add_image("png", png, 1)
    board.add.add_image("jpeg", bytearray(jpeg), 1)
    for wrong in (png[:30], jpeg[:20], jpeg[:2], b"GIF89a", b"", b"\xff\xd8\xff\xff" * 9):
        with pytest.raises(InvalidArgumentError, match="adding an image"):
            board.add.add_image("wrong", wrong, 1)
    with pytest.raises(ValueError, match="shape"):
        board.add.add_image("wrong", grey, 1)
    with pytest.raises(ValueError, match="dataformats"):
        board.add.add_image("wrong", grey, 1, dataformats="WH")
    with pytest.raises(TypeError, match="int64"):
        board.add.add_image("wrong", grey.astype(int), 1, dataformats="HW")
    found = board.end()
    assert sorted(found.Tags()["images"]) == ["colours", "floats", "grey", "jpeg", "png"]
    for tag, image in ("grey", grey), ("colours", colours), ("floats", colours):
        (event,) = found.Images(tag)
        opened = numpy.asarray(PIL.Image.open(io.BytesIO(event.encoded_image_string)))
        assert (opened.reshape(3, 4, -1) == image.reshape(-1, 3, 4).transpose(1, 2, 0)).all()
    for tag, encoded in ("png", png), ("jpeg", jpeg):
        (event,) = found.Images(tag)
        assert (event.width, event.height) == (4, 3)
        assert event.encoded_image_string == encoded


def test_heads_of_images_may_say_anything(board: Board) -> None:
    generator = random.Random(4)
    image = numpy.zeros((3, 4, 3), numpy.uint8)
    for encoded in png_of(image), jpeg_of(image):
        for _ in range(300):
            damaged = bytearray(encoded[: generator.randrange(len(encoded))])
            for _ in range(generator.randrange(5)):
                if damaged:
                    damaged[generator.randrange(min(len(damaged), 60))] = generator.randrange(256)
            try:
                board.add.add_image("damaged", damaged, 1)
            except InvalidArgumentError as refused:
                assert "adding an image" in str(refused)
    board.add.add_scalar("after", 1, 1)
    assert [point.value for point in board.end().Scalars("after")] == [1]


def test_places_that_are_none_are_refused(board: Board) -> None:
    for tag in "", "x" * 4097, "\0":
        with pytest.raises(ValueError, match="tag"):
            board.add.add_scalar(tag, 1, 1)
    with pytest.raises(TypeError, match="tag"):
        board.add.add_scalar(1, 1, 1)  # type: ignore[arg-type]
    for step in -1, 2**63:
        with pytest.raises(ValueError, match="step"):
            board.add.add_scalar("tag", 1, step)
    with pytest.raises(TypeError, match="scalar_value"):
        board.add.add_scalar("tag", "1", 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="value 1 is nan"):
        board.add.add_histogram("tag", [1, float("nan")], 1)
    with pytest.raises(InvalidArgumentError, match="no values"):
        board.add.add_histogram("tag", [], 1)
    board.context.close()


ADDING = """
import sys
from detcore import core

context = core.init()
print(context.train.get_tensorboard_path(), flush=True)
for step in range(10**9):
    context.tensorboard.add_scalar("own", step, step)
    context.tensorboard.add_text("text", "x" * (step % 50_000), step)
    context.train.report_training_metrics(step, {"loss": step})
"""


def test_a_kill_at_any_instant_leaves_whole_records(store: pathlib.Path) -> None:
    generator = random.Random(5)
    whole = 0
    for _ in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", ADDING], stdout=subprocess.PIPE, text=True
        ) as adding:
            assert adding.stdout
            path = pathlib.Path(adding.stdout.readline().strip())
            least = generator.randrange(1, 500_000)
            while sum(entry.stat().st_size for entry in path.iterdir()) < least:
                assert adding.poll() is None
            os.kill(adding.pid, signal.SIGKILL)
        (file,) = path.iterdir()
        board = read(path)
        # The metrics of many steps may stand before the first of these, which another thread adds.
        is_there = "own" in board.Tags()["scalars"]
        read_steps = [point.step for point in board.Scalars("own")] if is_there else []
        assert read_steps == list(range(len(read_steps)))
        assert len(read_steps) == sum(payload.count(b"\x0a\x03own") for payload in records(file))
        whole += len(read_steps)
    assert whole > 0


def test_the_loader_of_tensorboard_reads_every_event(board: Board) -> None:
    for step in range(100):
        board.add.add_histogram("h", [step], step)
    path = board.context.train.get_tensorboard_path()
    board.add.flush()
    (file,) = path.iterdir()
    events = list(
        event_file_loader.EventFileLoader(str(file)).Load()
    )  # migrates as the server does
    board.context.close()
    assert [event.step for event in events[1:]] == list(range(100))
    (value,) = events[50].summary.value
    assert value.metadata.plugin_data.plugin_name == "histograms"
    ((left, right, count),) = tensor_util.make_ndarray(value.tensor)
    assert (left, right, count) == (49, 49, 1)


SEARCH = """
name: space
searcher: {name: grid, metric: loss, max_length: 2}
hyperparameters:
  x: {type: double, minval: 0.5, maxval: 1.5, count: 2}
  kind: {type: categorical, vals: [a, b]}
  deep: {rate: {type: log, base: 10, minval: -3, maxval: -1, count: 1}, fixed: 7}
checkpoint_storage: {type: shared_fs, host_path: HOME}
"""
STATUSES = ["UNKNOWN", "SUCCESS", "FAILURE", "RUNNING"]


def test_a_search_is_shown_with_its_table(store: pathlib.Path) -> None:
    run_experiment(store, SEARCH.replace("HOME", str(store)), QUICK)
    with started("1") as address:
        assert "://localhost:" in address or "://127.0.0.1:" in address
        groups = awaited(
            address,
            "data/plugin/hparams/session_groups",
            lambda answer: (
                len(answer.get("sessionGroups", [])) == 4
                and all(group.get("metricValues") for group in answer["sessionGroups"])
            ),
            {
                "experimentName": "",
                "allowedStatuses": ["STATUS_" + status for status in STATUSES],
                "colParams": [],
                "aggregationType": "AGGREGATION_AVG",
                "startIndex": 0,
                "sliceSize": 100,
            },
        )["sessionGroups"]
        shown = {group["name"]: group for group in groups}
        assert sorted(shown) == ["trial/1", "trial/2", "trial/3", "trial/4"]
        points = {
            (group["hparams"]["x"], group["hparams"]["kind"], group["metricValues"][0]["value"])
            for group in groups
        }
        assert points == {(0.5, "a", 0.5), (0.5, "b", 0.5), (1.5, "a", 1.5), (1.5, "b", 1.5)}
        for group in groups:
            assert group["hparams"]["deep.fixed"] == 7
            assert 0.001 <= group["hparams"]["deep.rate"] <= 0.1
            (session,) = group["sessions"]
            assert session["status"] == "STATUS_SUCCESS"
            assert 0 < session["startTimeSecs"] <= session["endTimeSecs"]
        experiment = ask(address, "data/plugin/hparams/experiment", {"experimentName": ""})
        infos = {info["name"]: info for info in experiment["hparamInfos"]}
        assert infos["x"]["domainInterval"] == {"minValue": 0.5, "maxValue": 1.5}
        assert infos["x"]["type"] == "DATA_TYPE_FLOAT64"
        assert infos["kind"]["domainDiscrete"] == ["a", "b"]
        assert infos["kind"]["type"] == "DATA_TYPE_STRING"
        assert infos["deep.rate"]["domainInterval"] == pytest.approx(
            {"minValue": 0.001, "maxValue": 0.1}
        )
        assert infos["deep.fixed"]["domainDiscrete"] == [7]
        (metric,) = experiment["metricInfos"]
        assert metric["name"]["tag"] == "Determined/val_loss"
        assert metric["datasetType"] == "DATASET_VALIDATION"
        assert experiment["name"] == "space"
        tags = ask(address, "data/plugin/scalars/tags")
        assert tags["trial/1"].keys() == {"Determined/val_loss"}


def test_two_experiments_are_shown_beside_each_other(store: pathlib.Path) -> None:
    for _ in range(2):
        with core.init(hparams={"x": 1}) as context:
            context.train.report_validation_metrics(1, {"loss": 1})
    with started("1", "2") as address:
        runs = ["experiment-1/trial/1", "experiment-2/trial/2"]
        awaited(address, "data/runs", lambda found: sorted(found) == runs)


def test_what_cannot_be_shown_is_told(store: pathlib.Path, det: Det) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
    assert "experiment 7" in det("tensorboard", "7", status=3)
    assert "is not an ID" in det("tensorboard", "x", status=2)
    assert "no experiment is given" in det("tensorboard", "--", "--port", "1", status=2)


def test_without_tensorboard_it_says_what_to_install(
    store: pathlib.Path, det: Det, monkeypatch: pytest.MonkeyPatch
) -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
    monkeypatch.setenv("PATH", str(store))  # no program at all
    assert "pip install tensorboard" in det("tensorboard", "1", status=3)


def hparams_data(board: Any, kind: str) -> Any:
    content = board.SummaryMetadata("_hparams_/" + kind).plugin_data.content
    return getattr(plugin_data_pb2.HParamsPluginData.FromString(content), kind)


# Both fail at first; the trial with x = 0.5 does so again, and that was its last restart.
FAILING = """
PATH="$(dirname "$DETCORE_COMMAND"):$PATH"
length=$(det next)
det report loss="$DET_HPARAM_x" --step 1 --group validation
[ "$DET_HPARAM_x" = 0.5 ] && exit 3
[ "$DET_TRIAL_RUN_ID" = 1 ] && exit 3
det next --completed "$DET_HPARAM_x"
"""


def test_the_status_of_a_trial_under_det_run_is_that_of_its_last_run(store: pathlib.Path) -> None:
    config = SEARCH.replace("HOME", str(store)).replace("vals: [a, b]", "vals: [a]")
    run_experiment(store, config + "max_restarts: 1\n", FAILING)
    (directory,) = store.glob("*/tensorboard/experiment/1/trial")
    status = {}
    for board in map(read, directory.iterdir()):
        x = hparams_data(board, "session_start_info").hparams["x"].number_value
        status[x] = hparams_data(board, "session_end_info").status
    assert status == {0.5: api_pb2.STATUS_FAILURE, 1.5: api_pb2.STATUS_SUCCESS}


@pytest.mark.parametrize("fails", [False, True])
def test_the_status_of_a_trial_is_that_of_its_end(store: pathlib.Path, fails: bool) -> None:
    context = core.init(hparams={"x": 1, "flag": True, "list": [1, "a"], "none": None})
    context.train.report_training_metrics(1, {"loss": 1})
    path = context.train.get_tensorboard_path()
    context.close(*((ValueError, ValueError(), None) if fails else (None, None, None)))
    board = read(path)
    expected = "STATUS_FAILURE" if fails else "STATUS_SUCCESS"
    assert hparams_data(board, "session_end_info").status == api_pb2.Status.Value(expected)
    hparams = hparams_data(board, "session_start_info").hparams
    assert hparams["x"].number_value == 1
    assert hparams["flag"].bool_value is True
    assert hparams["list"].string_value == '[1,"a"]'
    assert hparams["none"].WhichOneof("kind") == "null_value"
