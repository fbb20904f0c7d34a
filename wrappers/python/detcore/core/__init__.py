"""Runs one training process from start to end: `with core.init() as context: ...`."""

from detcore.core._checkpoint import (
    CheckpointContext,
    CheckpointEntry,
    CheckpointRestore,
    CheckpointStore,
    DownloadMode,
)
from detcore.core._context import Context, init
from detcore.core._distributed import DistributedContext
from detcore.core._info import ClusterInfo, TrialInfo, get_cluster_info
from detcore.core._preempt import PreemptContext, PreemptMode
from detcore.core._profiler import ProfilerContext
from detcore.core._progress import Progress
from detcore.core._regions import Region
from detcore.core._searcher import SearcherContext, SearcherMode, SearcherOperation, Unit
from detcore.core._tensorboard import TensorboardContext
from detcore.core._tensors import TensorPart, Tensors, open_tensors
from detcore.core._ticket import SaveState, SaveTicket
from detcore.core._train import EarlyExitReason, TensorboardMode, TrainContext

__all__ = [
    "CheckpointContext",
    "CheckpointEntry",
    "CheckpointRestore",
    "CheckpointStore",
    "ClusterInfo",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "EarlyExitReason",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "Progress",
    "Region",
    "SaveState",
    "SaveTicket",
    "SearcherContext",
    "SearcherMode",
    "SearcherOperation",
    "TensorPart",
    "TensorboardContext",
    "TensorboardMode",
    "Tensors",
    "TrainContext",
    "TrialInfo",
    "Unit",
    "get_cluster_info",
    "init",
    "open_tensors",
]
