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

DET_CLIENT_ACTION_ACTIVATE = 2
DET_CLIENT_ACTION_CANCEL = 3
DET_CLIENT_ACTION_KILL = 4
DET_CLIENT_ACTION_PAUSE = 1
DET_CLIENT_TARGET_EXPERIMENT = 1
DET_CLIENT_TARGET_TRIAL = 2
DET_CONFIG_RULES_0_33 = 0
DET_CONFIG_RULES_0_38 = 1
DET_DEVICE_CUDA = 2
DET_DEVICE_DETECT = 0
DET_DEVICE_HOST = 1
DET_DONE = 1
DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE = 0
DET_DOWNLOAD_MODE_NO_SHARED = 1
DET_DTYPE_BF16 = 15
DET_DTYPE_BOOL = 1
DET_DTYPE_C64 = 19
DET_DTYPE_F16 = 14
DET_DTYPE_F32 = 18
DET_DTYPE_F4 = 2
DET_DTYPE_F64 = 20
DET_DTYPE_F6_E2M3 = 3
DET_DTYPE_F6_E3M2 = 4
DET_DTYPE_F8_E4M3 = 8
DET_DTYPE_F8_E4M3FNUZ = 10
DET_DTYPE_F8_E5M2 = 7
DET_DTYPE_F8_E5M2FNUZ = 11
DET_DTYPE_F8_E8M0 = 9
DET_DTYPE_I16 = 12
DET_DTYPE_I32 = 16
DET_DTYPE_I64 = 21
DET_DTYPE_I8 = 6
DET_DTYPE_U16 = 13
DET_DTYPE_U32 = 17
DET_DTYPE_U64 = 22
DET_DTYPE_U8 = 5
DET_EARLY_EXIT_REASON_INVALID_HP = 101
DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP = 102
DET_EXIT_PREEMPTED = 75
DET_E_ACCESS = -10
DET_E_BUSY = -13
DET_E_CALLBACK = -7
DET_E_CONFLICT = -14
DET_E_CORRUPT = -11
DET_E_FULL = -12
DET_E_HTTP = -16
DET_E_INTERNAL = -1
DET_E_INVALID = -3
DET_E_IO = -5
DET_E_NOMEM = -2
DET_E_NOT_FOUND = -4
DET_E_STATE = -9
DET_E_TIMEOUT = -6
DET_E_UNAVAILABLE = -15
DET_E_UNSUPPORTED = -8
DET_LENGTH_UNIT_BATCHES = 3
DET_LENGTH_UNIT_EPOCHS = 1
DET_LENGTH_UNIT_NONE = 0
DET_LENGTH_UNIT_RECORDS = 2
DET_LOG_LEVEL_DEBUG = 1
DET_LOG_LEVEL_DEFAULT = 0
DET_LOG_LEVEL_ERROR = 4
DET_LOG_LEVEL_INFO = 2
DET_LOG_LEVEL_WARNING = 3
DET_MONITOR_BY_NAME = 0
DET_MONITOR_MAX = 2
DET_MONITOR_MIN = 1
DET_OK = 0
DET_OUTCOME_ERROR = 1
DET_OUTCOME_INVALID_HP = 2
DET_OUTCOME_OK = 0
DET_PREEMPTED = 2
DET_PREEMPT_MODE_CHIEF_ONLY = 1
DET_PREEMPT_MODE_WORKERS_ASK_CHIEF = 0
DET_PREEMPT_MODE_WORKERS_ASK_MASTER = 2
DET_SEARCHER_MODE_CHIEF_ONLY = 1
DET_SEARCHER_MODE_WORKERS_ASK_CHIEF = 0
DET_SHORT_MESSAGE = 4000
DET_TENSORBOARD_MODE_AUTO = 0
DET_TENSORBOARD_MODE_MANUAL = 1
DET_TICKET_CANCELLED = 4
DET_TICKET_FAILED = 3
DET_TICKET_SAVED = 2
DET_TICKET_SAVING = 1
DET_TICKET_WAITING = 0
DET_TIMEOUT_DEFAULT = 0
DET_TIMEOUT_INFINITE = -1
DET_TIMEOUT_NONE = -2
DET_TRIAL_REDUCTION_AUTO = 0
DET_TRIAL_REDUCTION_MESSAGES = 3
DET_TRIAL_REDUCTION_NCCL = 4
DET_TRIAL_REDUCTION_SHARED_MEMORY = 1
DET_TRIAL_REDUCTION_TRANSPORT = 2
DET_VERSION_MAJOR = 0
DET_VERSION_MINOR = 1
DET_VERSION_NUMBER = 1000
DET_VERSION_PATCH = 0
DET_WORKLOAD_CHECKPOINT = 3
DET_WORKLOAD_TRAIN = 1
DET_WORKLOAD_VALIDATE = 2


class det_error(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("code", c_int32),
        ("os_errno", c_int32),
        ("http_status", c_int32),
        ("retryable", c_int32),
        ("message", c_char * 504),
    )


det_checkpoint_selector = CFUNCTYPE(c_int32, c_char_p, c_void_p)


class det_progress(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("bytes", c_int64),
        ("total_bytes", c_int64),
        ("files", c_int64),
        ("total_files", c_int64),
    )


det_progress_callback = CFUNCTYPE(c_int32, POINTER(det_progress), c_void_p)


class det_checkpoint_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("selector", det_checkpoint_selector),
        ("progress", det_progress_callback),
        ("user_data", c_void_p),
        ("shard", c_int32),
        ("reserved", c_int32),
    )


class det_download_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("selector", det_checkpoint_selector),
        ("progress", det_progress_callback),
        ("user_data", c_void_p),
        ("mode", c_int32),
        ("skip_verification", c_int32),
    )


class det_save_limits(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("limit_bytes", c_int64),
        ("in_flight", c_int32),
        ("refuse_when_full", c_int32),
    )


class det_staging_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("directory", c_char_p),
        ("limit_bytes", c_int64),
    )


class det_log_line(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("message", c_char_p),
        ("source", c_char_p),
        ("time_us", c_int64),
        ("level", c_int32),
        ("rank", c_int32),
    )


det_log_callback = CFUNCTYPE(None, POINTER(det_log_line), c_void_p)


class det_client_page(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("after", c_int64),
        ("limit", c_int64),
        ("descending", c_int32),
        ("by_metric", c_int32),
        ("state", c_char_p),
        ("name", c_char_p),
        ("tag", c_char_p),
        ("archived", c_int32),
        ("running", c_int32),
    )


class det_client_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("master", c_char_p),
        ("user", c_char_p),
        ("password", c_char_p),
        ("token", c_char_p),
        ("cert_file", c_char_p),
        ("timeout_ms", c_int64),
        ("log", det_log_callback),
        ("log_user_data", c_void_p),
        ("log_destroy", CFUNCTYPE(None, c_void_p)),
        ("log_queue", c_void_p),
        ("log_level", c_int32),
        ("reserved", c_int32),
    )


class det_config_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("file_name", c_char_p),
        ("master", c_char_p),
        ("template_json", c_char_p),
        ("pool_defaults_json", c_char_p),
        ("workspace_storage_json", c_char_p),
        ("master_storage_json", c_char_p),
        ("unmanaged", c_int32),
        ("rules", c_int32),
    )


class det_distributed_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("rank", c_int32),
        ("size", c_int32),
        ("local_rank", c_int32),
        ("local_size", c_int32),
        ("cross_rank", c_int32),
        ("cross_size", c_int32),
        ("chief_ip", c_char_p),
        ("pub_port", c_int32),
        ("port_offset", c_int32),
        ("force_tcp", c_int32),
        ("reserved", c_int32),
        ("timeout_ms", c_int64),
    )


class det_communicator_functions(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("send", CFUNCTYPE(c_int32, c_int32, c_int32, c_void_p, c_size_t, c_int64, c_void_p)),
        ("receive", CFUNCTYPE(c_int32, c_int32, c_int32, c_void_p, c_size_t, POINTER(c_size_t), c_int64, c_void_p)),
        ("broadcast", CFUNCTYPE(c_int32, c_int32, c_int32, c_void_p, c_size_t, c_int64, c_void_p)),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("any_pair", c_int32),
        ("shared_memory", c_int32),
        ("start_sum", CFUNCTYPE(c_int32, c_void_p, c_size_t, c_int32, c_void_p)),
        ("finish_sums", CFUNCTYPE(c_int32, c_int64, c_void_p)),
        ("give_up", CFUNCTYPE(None, c_void_p)),
    )


det_wait_callback = CFUNCTYPE(c_int32, c_void_p)


class det_histogram(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("limits", POINTER(c_double)),
        ("counts", POINTER(c_double)),
        ("count", c_size_t),
        ("min", c_double),
        ("max", c_double),
        ("sum", c_double),
        ("sum_squares", c_double),
    )


class det_tensor(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("device", c_int32),
        ("dimensions", c_size_t),
        ("shape", POINTER(c_int64)),
        ("offset", POINTER(c_int64)),
        ("global_shape", POINTER(c_int64)),
    )


class det_tensors_write_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("metadata_json", c_char_p),
    )


class det_tensors_read_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("progress", det_progress_callback),
        ("user_data", c_void_p),
    )


class det_buffer(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("data", c_void_p),
        ("size", c_size_t),
    )


class det_metric(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("value", c_double),
    )


class det_report(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("group", c_char_p),
        ("steps_completed", c_int64),
        ("metrics", POINTER(det_metric)),
        ("count", c_size_t),
        ("metrics_json", c_char_p),
        ("batch_metrics_json", c_char_p),
        ("time_us", c_int64),
        ("rank", c_int32),
        ("reserved", c_int32),
    )


det_tensorboard_selector = CFUNCTYPE(c_int32, c_char_p, c_void_p)
det_tensorboard_mangler = CFUNCTYPE(c_int32, c_char_p, c_int32, c_void_p, c_size_t, c_void_p)


class det_trial_cache_reader_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("shard", c_int64),
        ("shards", c_int64),
        ("offset", c_int64),
        ("shuffle", c_int32),
        ("same_order", c_int32),
        ("drop_remainder", c_int32),
        ("seed", c_uint32),
    )


class det_trial_gradient(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("count", c_size_t),
        ("dtype", c_int32),
        ("is_sparse", c_int32),
    )


class det_trial_gradients_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("aggregation_frequency", c_int32),
        ("average_aggregated_gradients", c_int32),
        ("gradient_compression", c_int32),
        ("first_to_last", c_int32),
        ("tensor_fusion_threshold", c_size_t),
        ("reduction", c_int32),
        ("gradients_are_complete", c_int32),
    )


class det_core_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("master", c_char_p),
        ("trial_id", c_int64),
        ("external_id", c_char_p),
        ("external_experiment_id", c_char_p),
        ("name", c_char_p),
        ("config_json", c_char_p),
        ("hparams_json", c_char_p),
        ("checkpoint_storage", c_char_p),
        ("distributed", c_void_p),
        ("preempt_signals", POINTER(c_int32)),
        ("preempt_signal_count", c_size_t),
        ("journal_limit", c_int64),
        ("journal_wait_ms", c_int64),
        ("close_wait_ms", c_int64),
        ("log", det_log_callback),
        ("log_user_data", c_void_p),
        ("log_destroy", CFUNCTYPE(None, c_void_p)),
        ("log_queue", c_void_p),
        ("preempt_mode", c_int32),
        ("tensorboard_mode", c_int32),
        ("stack_trace_signal", c_int32),
        ("close_at_end", c_int32),
        ("capture_output", c_int32),
        ("durable_reports", c_int32),
        ("log_level", c_int32),
        ("reserved", c_int32),
        ("run_wait_ms", c_int64),
    )


class det_workload(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("kind", c_int32),
        ("reserved", c_int32),
        ("step_id", c_int64),
        ("batches", c_int64),
        ("batches_done", c_int64),
    )


class det_trial_sampler_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("length", c_int64),
        ("shard", c_int64),
        ("shards", c_int64),
        ("skip", c_int64),
        ("shuffle", c_int32),
        ("seed", c_uint32),
    )


class det_trial_early_stopping_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("monitor", c_char_p),
        ("min_delta", c_double),
        ("baseline", POINTER(c_double)),
        ("mode", c_int32),
        ("patience", c_int32),
        ("start_from", c_int32),
        ("reserved", c_int32),
    )


class det_trial_plateau_options(Structure):
    _fields_ = (
        ("struct_size", c_size_t),
        ("monitor", c_char_p),
        ("factor", c_double),
        ("min_delta", c_double),
        ("min_learning_rate", c_double),
        ("mode", c_int32),
        ("patience", c_int32),
        ("cooldown", c_int32),
        ("reserved", c_int32),
    )


# Of each function: what it returns, and its parameters.
PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "det_version": (c_uint32, ()),
    "det_version_string": (c_char_p, ()),
    "det_has_feature": (c_int32, (c_char_p, )),
    "det_free": (None, (c_void_p, )),
    "det_status_name": (c_char_p, (c_int32, )),
    "det_checkpoint_upload": (c_int32, (c_void_p, c_char_p, c_char_p, POINTER(det_checkpoint_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_writer_begin": (c_int32, (c_void_p, c_char_p, POINTER(det_checkpoint_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_writer_path": (c_char_p, (c_void_p, )),
    "det_checkpoint_writer_id": (c_char_p, (c_void_p, )),
    "det_checkpoint_writer_set_metadata": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_checkpoint_writer_commit": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_checkpoint_writer_abort": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_checkpoint_writer_free": (None, (c_void_p, )),
    "det_checkpoint_limit_saves": (c_int32, (c_void_p, POINTER(det_save_limits), POINTER(det_error), )),
    "det_checkpoint_stage_saves": (c_int32, (c_void_p, POINTER(det_staging_options), POINTER(det_error), )),
    "det_checkpoint_upload_async": (c_int32, (c_void_p, c_char_p, c_char_p, POINTER(det_checkpoint_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_writer_commit_async": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_ticket_id": (c_char_p, (c_void_p, )),
    "det_checkpoint_ticket_poll": (c_int32, (c_void_p, POINTER(c_int32), POINTER(det_progress), POINTER(det_error), )),
    "det_checkpoint_ticket_wait": (c_int32, (c_void_p, c_int64, POINTER(det_error), )),
    "det_checkpoint_ticket_cancel": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_checkpoint_ticket_free": (None, (c_void_p, )),
    "det_checkpoint_download": (c_int32, (c_void_p, c_char_p, c_char_p, POINTER(det_download_options), POINTER(det_error), )),
    "det_checkpoint_reader_open": (c_int32, (c_void_p, c_char_p, POINTER(det_download_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_reader_path": (c_char_p, (c_void_p, )),
    "det_checkpoint_reader_free": (None, (c_void_p, )),
    "det_checkpoint_delete": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_checkpoint_list": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_checkpoint_entries_count": (c_size_t, (c_void_p, )),
    "det_checkpoint_entries_id": (c_char_p, (c_void_p, c_size_t, )),
    "det_checkpoint_entries_steps_completed": (c_int64, (c_void_p, c_size_t, )),
    "det_checkpoint_entries_time_us": (c_int64, (c_void_p, c_size_t, )),
    "det_checkpoint_entries_size": (c_int64, (c_void_p, c_size_t, )),
    "det_checkpoint_entries_free": (None, (c_void_p, )),
    "det_checkpoint_get_metadata": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_log_queue_create": (c_int32, (POINTER(c_void_p), POINTER(det_error), )),
    "det_log_queue_take": (c_int32, (c_void_p, POINTER(POINTER(det_log_line)), POINTER(det_error), )),
    "det_log_queue_fd": (c_int32, (c_void_p, )),
    "det_log_queue_free": (None, (c_void_p, )),
    "det_storage_open": (c_int32, (c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_storage_free": (None, (c_void_p, )),
    "det_storage_get_config": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_storage_upload": (c_int32, (c_void_p, c_char_p, c_char_p, POINTER(det_checkpoint_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_storage_download": (c_int32, (c_void_p, c_char_p, c_char_p, POINTER(det_download_options), POINTER(det_error), )),
    "det_storage_list": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_storage_verify": (c_int32, (c_void_p, c_char_p, POINTER(det_download_options), POINTER(det_error), )),
    "det_storage_copy": (c_int32, (c_void_p, c_char_p, c_void_p, POINTER(det_download_options), POINTER(det_error), )),
    "det_storage_delete": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_client_open": (c_int32, (POINTER(det_client_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_free": (None, (c_void_p, )),
    "det_client_login": (c_int32, (POINTER(det_client_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_logout": (c_int32, (POINTER(det_client_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_whoami": (c_int32, (POINTER(det_client_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_experiments": (c_int32, (c_void_p, POINTER(det_client_page), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_get_experiment": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_trials": (c_int32, (c_void_p, c_int64, POINTER(det_client_page), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_get_trial": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_metrics": (c_int32, (c_void_p, c_int64, c_char_p, POINTER(det_client_page), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_get_metric_series": (c_int32, (c_void_p, c_int64, c_char_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_metric_series_count": (c_size_t, (c_void_p, )),
    "det_metric_series_steps_completed": (POINTER(c_int64), (c_void_p, )),
    "det_metric_series_values": (POINTER(c_double), (c_void_p, )),
    "det_metric_series_times_us": (POINTER(c_int64), (c_void_p, )),
    "det_metric_series_free": (None, (c_void_p, )),
    "det_client_get_trace": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_metric_names": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_checkpoints": (c_int32, (c_void_p, c_int64, POINTER(det_client_page), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_get_checkpoint": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_open_storage": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_find_checkpoint": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_find_trial": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_list_logs": (c_int32, (c_void_p, c_int64, POINTER(det_client_page), POINTER(c_void_p), POINTER(det_error), )),
    "det_client_best_trial": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_hparam_importance": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_collect_garbage": (c_int32, (c_void_p, c_int64, c_int32, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_delete_checkpoint": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_pin_checkpoint": (c_int32, (c_void_p, c_char_p, c_int32, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_checkpoint_usage": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_search_events": (c_int32, (c_void_p, c_int64, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_post_operations": (c_int32, (c_void_p, c_int64, c_int64, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_update_experiment": (c_int32, (c_void_p, c_int64, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_delete_experiment": (c_int32, (c_void_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_control": (c_int32, (c_void_p, c_int32, c_int64, c_int32, POINTER(c_void_p), POINTER(det_error), )),
    "det_client_sync": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_config_check": (c_int32, (c_char_p, POINTER(det_config_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_config_complete": (c_int32, (c_char_p, POINTER(det_config_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_create": (c_int32, (POINTER(det_distributed_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_horovod": (c_int32, (c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_deepspeed": (c_int32, (c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_torch": (c_int32, (c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_tf_config": (c_int32, (POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_env": (c_int32, (POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_from_functions": (c_int32, (POINTER(det_distributed_options), POINTER(det_communicator_functions), c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_set_wait_callback": (c_int32, (c_void_p, det_wait_callback, c_void_p, POINTER(det_error), )),
    "det_distributed_free": (None, (c_void_p, )),
    "det_distributed_rank": (c_int32, (c_void_p, )),
    "det_distributed_size": (c_int32, (c_void_p, )),
    "det_distributed_local_rank": (c_int32, (c_void_p, )),
    "det_distributed_local_size": (c_int32, (c_void_p, )),
    "det_distributed_cross_rank": (c_int32, (c_void_p, )),
    "det_distributed_cross_size": (c_int32, (c_void_p, )),
    "det_distributed_gather": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_gather_local": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_allgather": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_allgather_local": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_broadcast": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_distributed_broadcast_local": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_messages_count": (c_size_t, (c_void_p, )),
    "det_messages_data": (c_void_p, (c_void_p, c_size_t, POINTER(c_size_t), )),
    "det_messages_free": (None, (c_void_p, )),
    "det_info_trial_id": (c_int64, (c_void_p, )),
    "det_info_experiment_id": (c_int64, (c_void_p, )),
    "det_info_trial_run_id": (c_int64, (c_void_p, )),
    "det_info_trial_seed": (c_int64, (c_void_p, )),
    "det_info_steps_completed": (c_int64, (c_void_p, )),
    "det_info_latest_checkpoint": (c_char_p, (c_void_p, )),
    "det_info_on_cluster": (c_int32, (c_void_p, )),
    "det_info_hparams_json": (c_char_p, (c_void_p, )),
    "det_info_config_json": (c_char_p, (c_void_p, )),
    "det_info_user_data_json": (c_char_p, (c_void_p, )),
    "det_info_json": (c_char_p, (c_void_p, )),
    "det_info_hparam_count": (c_size_t, (c_void_p, )),
    "det_info_hparam_name": (c_char_p, (c_void_p, c_size_t, )),
    "det_info_hparam_double": (c_double, (c_void_p, c_char_p, c_double, )),
    "det_info_hparam_int": (c_int64, (c_void_p, c_char_p, c_int64, )),
    "det_info_hparam_bool": (c_int32, (c_void_p, c_char_p, c_int32, )),
    "det_info_hparam_string": (c_char_p, (c_void_p, c_char_p, c_char_p, )),
    "det_info_get_hparam_double": (c_int32, (c_void_p, c_char_p, POINTER(c_double), POINTER(det_error), )),
    "det_info_get_hparam_int": (c_int32, (c_void_p, c_char_p, POINTER(c_int64), POINTER(det_error), )),
    "det_info_get_hparam_bool": (c_int32, (c_void_p, c_char_p, POINTER(c_int32), POINTER(det_error), )),
    "det_info_get_hparam_string": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_info_get_hparam_json": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_preempt_should_preempt": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_preempt_should_preempt_no_ack": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_preempt_acknowledge": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_preempt_request": (c_int32, (c_void_p, )),
    "det_profiler_on": (c_int32, (c_void_p, c_double, c_int32, POINTER(det_error), )),
    "det_profiler_off": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_searcher_configure": (c_int32, (c_void_p, c_int32, c_int32, POINTER(det_error), )),
    "det_searcher_next": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_searcher_acknowledge_out_of_ops": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_searcher_configured_units": (c_int32, (c_void_p, )),
    "det_searcher_op_length": (c_int64, (c_void_p, )),
    "det_searcher_op_report_progress": (c_int32, (c_void_p, c_double, POINTER(det_error), )),
    "det_searcher_op_report_completed": (c_int32, (c_void_p, c_double, POINTER(det_error), )),
    "det_searcher_op_report_completed_json": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_tensorboard_add_scalar": (c_int32, (c_void_p, c_char_p, c_int64, c_double, POINTER(det_error), )),
    "det_tensorboard_add_histogram": (c_int32, (c_void_p, c_char_p, c_int64, POINTER(c_double), c_size_t, POINTER(det_error), )),
    "det_tensorboard_add_histogram_float": (c_int32, (c_void_p, c_char_p, c_int64, POINTER(c_float), c_size_t, POINTER(det_error), )),
    "det_tensorboard_add_histogram_buckets": (c_int32, (c_void_p, c_char_p, c_int64, POINTER(det_histogram), POINTER(det_error), )),
    "det_tensorboard_add_text": (c_int32, (c_void_p, c_char_p, c_int64, c_char_p, POINTER(det_error), )),
    "det_tensorboard_add_image": (c_int32, (c_void_p, c_char_p, c_int64, c_void_p, c_size_t, POINTER(det_error), )),
    "det_tensorboard_add_pixels": (c_int32, (c_void_p, c_char_p, c_int64, c_void_p, c_int32, c_int32, c_int32, POINTER(det_error), )),
    "det_tensorboard_flush": (c_int32, (c_void_p, c_int64, POINTER(det_error), )),
    "det_dtype_name": (c_char_p, (c_int32, )),
    "det_dtype_from_name": (c_int32, (c_char_p, )),
    "det_dtype_bits": (c_int32, (c_int32, )),
    "det_tensors_write": (c_int32, (c_void_p, c_char_p, POINTER(det_tensor), c_size_t, POINTER(det_tensors_write_options), POINTER(det_error), )),
    "det_tensors_open": (c_int32, (c_void_p, c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_tensors_open_path": (c_int32, (c_char_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_tensors_count": (c_size_t, (c_void_p, )),
    "det_tensors_find": (c_int64, (c_void_p, c_char_p, )),
    "det_tensors_name": (c_char_p, (c_void_p, c_size_t, )),
    "det_tensors_dtype": (c_int32, (c_void_p, c_size_t, )),
    "det_tensors_dimensions": (c_size_t, (c_void_p, c_size_t, )),
    "det_tensors_shape": (POINTER(c_int64), (c_void_p, c_size_t, )),
    "det_tensors_size": (c_int64, (c_void_p, c_size_t, )),
    "det_tensors_metadata": (c_char_p, (c_void_p, )),
    "det_tensors_read": (c_int32, (c_void_p, POINTER(det_tensor), c_size_t, POINTER(det_tensors_read_options), POINTER(det_error), )),
    "det_tensors_free": (None, (c_void_p, )),
    "det_state_save": (c_int32, (c_void_p, c_int64, POINTER(det_buffer), c_size_t, POINTER(c_void_p), POINTER(det_error), )),
    "det_state_load": (c_int32, (c_void_p, c_char_p, POINTER(det_buffer), c_size_t, POINTER(c_int64), POINTER(det_error), )),
    "det_train_report_training_metrics": (c_int32, (c_void_p, c_int64, POINTER(det_metric), c_size_t, POINTER(det_error), )),
    "det_train_report_validation_metrics": (c_int32, (c_void_p, c_int64, POINTER(det_metric), c_size_t, POINTER(det_error), )),
    "det_train_report_metrics": (c_int32, (c_void_p, c_char_p, c_int64, POINTER(det_metric), c_size_t, POINTER(det_error), )),
    "det_train_report_metrics_json": (c_int32, (c_void_p, c_char_p, c_int64, c_char_p, c_char_p, POINTER(det_error), )),
    "det_train_report": (c_int32, (c_void_p, POINTER(det_report), POINTER(det_error), )),
    "det_train_name_region": (c_int32, (c_void_p, c_char_p, POINTER(c_int32), POINTER(det_error), )),
    "det_train_begin_region": (c_int32, (c_void_p, c_int32, POINTER(det_error), )),
    "det_train_end_region": (c_int32, (c_void_p, c_int32, POINTER(det_error), )),
    "det_train_flush": (c_int32, (c_void_p, c_int64, POINTER(det_error), )),
    "det_train_set_status": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_train_report_progress": (c_int32, (c_void_p, c_double, POINTER(det_error), )),
    "det_train_log": (c_int32, (c_void_p, c_int32, c_char_p, POINTER(det_error), )),
    "det_train_report_early_exit": (c_int32, (c_void_p, c_int32, POINTER(det_error), )),
    "det_train_set_metadata": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_train_get_metadata": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_train_get_experiment_best_validation": (c_int32, (c_void_p, POINTER(c_double), POINTER(det_error), )),
    "det_train_get_tensorboard_path": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_tensorboard_rank_aware_name": (c_int32, (c_char_p, c_int32, c_void_p, c_size_t, c_void_p, )),
    "det_train_upload_tensorboard_files": (c_int32, (c_void_p, det_tensorboard_selector, det_tensorboard_mangler, c_void_p, POINTER(det_error), )),
    "det_trial_cache_open": (c_int32, (c_char_p, c_char_p, c_char_p, c_int64, POINTER(c_void_p), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_cache_open_bucket": (c_int32, (c_void_p, c_char_p, c_char_p, c_char_p, c_int64, POINTER(c_void_p), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_cache_writer_add": (c_int32, (c_void_p, c_void_p, POINTER(c_size_t), c_size_t, POINTER(det_error), )),
    "det_trial_cache_writer_commit": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_trial_cache_writer_free": (None, (c_void_p, )),
    "det_trial_cache_count": (c_int64, (c_void_p, )),
    "det_trial_cache_largest": (c_size_t, (c_void_p, )),
    "det_trial_cache_metadata": (c_char_p, (c_void_p, )),
    "det_trial_cache_free": (None, (c_void_p, )),
    "det_trial_cache_reader_create": (c_int32, (c_void_p, POINTER(det_trial_cache_reader_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_cache_reader_length": (c_int64, (c_void_p, )),
    "det_trial_cache_reader_next": (c_int32, (c_void_p, c_void_p, c_size_t, POINTER(c_size_t), c_size_t, POINTER(c_size_t), POINTER(det_error), )),
    "det_trial_cache_reader_free": (None, (c_void_p, )),
    "det_trial_gradients_create": (c_int32, (c_void_p, POINTER(det_trial_gradient), c_size_t, POINTER(det_trial_gradients_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_gradients_memory": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(c_size_t), POINTER(det_error), )),
    "det_trial_gradients_add": (c_int32, (c_void_p, c_size_t, c_void_p, c_void_p, POINTER(det_error), )),
    "det_trial_gradients_step": (c_int32, (c_void_p, POINTER(c_int32), POINTER(det_error), )),
    "det_trial_gradients_free": (None, (c_void_p, )),
    "det_trial_average_metrics": (c_int32, (c_void_p, c_char_p, POINTER(c_double), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_broadcast": (c_int32, (c_void_p, POINTER(det_tensor), c_size_t, POINTER(det_error), )),
    "det_core_init": (c_int32, (POINTER(det_core_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_core_init_json": (c_int32, (c_char_p, c_void_p, c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_core_close": (c_int32, (c_void_p, c_int32, POINTER(det_error), )),
    "det_core_exit_status": (c_int32, (c_void_p, )),
    "det_core_free": (None, (c_void_p, )),
    "det_core_info": (c_void_p, (c_void_p, )),
    "det_core_distributed": (c_void_p, (c_void_p, )),
    "det_core_checkpoint": (c_void_p, (c_void_p, )),
    "det_core_preempt": (c_void_p, (c_void_p, )),
    "det_core_train": (c_void_p, (c_void_p, )),
    "det_core_searcher": (c_void_p, (c_void_p, )),
    "det_core_profiler": (c_void_p, (c_void_p, )),
    "det_core_tensorboard": (c_void_p, (c_void_p, )),
    "det_trial_sequencer_create": (c_int32, (c_void_p, c_char_p, c_int64, POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_sequencer_next": (c_int32, (c_void_p, POINTER(det_workload), POINTER(det_error), )),
    "det_trial_sequencer_respond": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_trial_sequencer_respond_invalid_hparams": (c_int32, (c_void_p, POINTER(det_error), )),
    "det_trial_sequencer_state": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_sequencer_load_state": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_trial_sequencer_free": (None, (c_void_p, )),
    "det_trial_batch_sizes": (c_int32, (c_char_p, c_int64, c_char_p, POINTER(c_int64), POINTER(c_int64), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_env_from_config": (c_int32, (c_char_p, c_char_p, c_uint32, POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_sampler_create": (c_int32, (POINTER(det_trial_sampler_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_sampler_next": (c_int32, (c_void_p, POINTER(c_int64), POINTER(det_error), )),
    "det_trial_sampler_free": (None, (c_void_p, )),
    "det_trial_early_stopping_create": (c_int32, (POINTER(det_trial_early_stopping_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_early_stopping_update": (c_int32, (c_void_p, POINTER(c_double), POINTER(c_int32), POINTER(c_int32), POINTER(det_error), )),
    "det_trial_early_stopping_state": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_early_stopping_load_state": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_trial_early_stopping_free": (None, (c_void_p, )),
    "det_trial_plateau_create": (c_int32, (POINTER(det_trial_plateau_options), POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_plateau_update": (c_int32, (c_void_p, POINTER(c_double), POINTER(c_double), POINTER(c_int32), POINTER(det_error), )),
    "det_trial_plateau_state": (c_int32, (c_void_p, POINTER(c_void_p), POINTER(det_error), )),
    "det_trial_plateau_load_state": (c_int32, (c_void_p, c_char_p, POINTER(det_error), )),
    "det_trial_plateau_free": (None, (c_void_p, )),
}
