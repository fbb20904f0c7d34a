// Options of saving and restoring.
#pragma once

#include <det/checkpoint.h>
#include <det/error.hpp>

#include <cstdint>
#include <functional>

namespace det {
inline namespace v1 {

enum class DownloadMode : det_download_mode {
  local_workers_share = DET_DOWNLOAD_MODE_LOCAL_WORKERS_SHARE,
  no_shared = DET_DOWNLOAD_MODE_NO_SHARED,
};

// Returns true for a file that takes part. The path is relative to the checkpoint. A directory ends
// in '/'.
using CheckpointSelector = std::function<bool(const char *path)>;

// The progress of a long call. -1: the total is unknown.
struct Progress {
  int64_t bytes, total_bytes;
  int64_t files, total_files;
};
// Called a few times a second. It must not call the library. False stops the call with
// Code::callback.
using ProgressCallback = std::function<bool(const Progress &)>;

struct CheckpointOptions {
  CheckpointSelector selector;  // upload() only; empty: everything
  ProgressCallback progress;
  bool shard = false;  // all ranks in step, each with its own files
};

struct DownloadOptions {
  CheckpointSelector selector;  // empty: everything
  ProgressCallback progress;
  DownloadMode mode = DownloadMode::local_workers_share;
  bool skip_verification = false;
};

namespace detail {

// The functions that the library calls while it works on a checkpoint.
struct CheckpointCallbacks {
  CheckpointSelector selector;
  ProgressCallback progress;

  bool tell(const det_progress &now) const {
    return progress({now.bytes, now.total_bytes, now.files, now.total_files});
  }
};

// Without the callbacks.
inline det_checkpoint_options to_c(const CheckpointOptions &options) noexcept {
  det_checkpoint_options c_options = DET_CHECKPOINT_OPTIONS_INIT;
  c_options.shard = options.shard ? 1 : 0;
  return c_options;
}

inline det_download_options to_c(const DownloadOptions &options) noexcept {
  det_download_options c_options = DET_DOWNLOAD_OPTIONS_INIT;
  c_options.mode = static_cast<det_download_mode>(options.mode);
  c_options.skip_verification = options.skip_verification ? 1 : 0;
  return c_options;
}

}  // namespace detail
}  // namespace v1
}  // namespace det
