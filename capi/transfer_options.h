// What callers say about a transfer, as the core takes it.
#pragma once

#include <det/checkpoint.h>

#include <optional>
#include <string>

#include "capi/guard.h"
#include "core/storage/progress.h"
#include "core/storage/storage.h"

inline det::storage::Selector to_core(det_checkpoint_selector selector, void *user_data) {
  if (selector == nullptr) return nullptr;
  return [selector, user_data](const std::string &path) {
    const int32_t answer = selector(path.c_str(), user_data);
    if (answer < 0)
      throw det::Error(det::Code::callback,
                       "choosing files of a checkpoint: the selector answered " +
                           std::to_string(answer) + " for '" + path + "'");
    return answer != 0;
  };
}

inline det_checkpoint_options read(const det_checkpoint_options *options) {
  return read_options<det_checkpoint_options>(options, DET_CHECKPOINT_OPTIONS_INIT, "options");
}

inline det_download_options read(const det_download_options *options) {
  return read_options<det_download_options>(options, DET_DOWNLOAD_OPTIONS_INIT, "options");
}

// With several ranks, one that has nothing to say need not.
inline const char *metadata_from(const char *json, const det_checkpoint_options &options) {
  return json == nullptr && options.shard != 0 ? "{}" : text(json, "metadata_json");
}

inline det_progress to_c(const det::storage::ProgressCount &count) {
  return {sizeof(det_progress), static_cast<int64_t>(count.bytes),
          static_cast<int64_t>(count.total_bytes), static_cast<int64_t>(count.files),
          static_cast<int64_t>(count.total_files)};
}

// Tells the caller how far the transfers that are given its progress() are.
class Followed {
 public:
  Followed(det_progress_callback callback, void *user_data) {
    if (callback == nullptr) return;
    progress_.emplace([callback, user_data](const det::storage::ProgressCount &count) {
      const det_progress told = to_c(count);
      if (const int32_t answer = callback(&told, user_data); answer < 0)
        throw det::Error(
            det::Code::callback,
            "transferring a checkpoint: the progress callback answered " + std::to_string(answer));
    });
  }

  // Null without a callback.
  det::storage::Progress *progress() { return progress_ ? &*progress_ : nullptr; }

 private:
  std::optional<det::storage::Progress> progress_;
};

template <class Options>
Followed follow(const Options &given) {
  return {given.progress, given.user_data};
}
