// Reports metrics, status and progress. See det/train.h.
#pragma once

#include <det/train.h>
#include <det/detail/callbacks.hpp>
#include <det/detail/metrics.hpp>
#include <det/error.hpp>
#include <det/json.hpp>
#include <det/log.hpp>
#include <det/region.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>

namespace det {
inline namespace v1 {

enum class EarlyExitReason : det_early_exit_reason {
  invalid_hp = DET_EARLY_EXIT_REASON_INVALID_HP,
  user_requested_stop = DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP,
};

enum class TensorboardMode : det_tensorboard_mode {
  automatic = DET_TENSORBOARD_MODE_AUTO,
  manual = DET_TENSORBOARD_MODE_MANUAL,
};

// The parts of a report beside its metrics. The texts are borrowed for the call.
struct Report {
  int64_t steps_completed = 0;
  const char *group = nullptr;               // NULL: "training".
  const char *metrics_json = nullptr;        // More metrics, of any JSON type.
  const char *batch_metrics_json = nullptr;  // A list of objects.
  Time time = {};                            // The time of the measurement. 1970: now.
  int rank = 0;                              // The rank that measured it. 0: the reporting one.
};

// Returns true for a file to upload. The path is absolute.
using TensorboardSelector = std::function<bool(const char *path)>;
// Returns the name of a file in storage, from its name in the TensorBoard directory.
using TensorboardMangler = std::function<std::string(const char *path, int rank)>;

// A TensorboardMangler. It adds the rank to the name of a profiler's trace, which is the same on
// every rank. Other names stay.
inline std::string rank_aware_name(const char *path, int rank) {
  std::string name(std::strlen(path) + 16, '\0');
  det_tensorboard_rank_aware_name(path, rank, name.data(), name.size(), nullptr);
  name.resize(std::strlen(name.c_str()));
  return name;
}

// A view borrowed from the core.
//
// Metrics are {{"loss", 0.5}, {"accuracy", 0.9}}, or any range of a name and a number. Examples are
// pairs, a std::map<std::string, double>, and an array or vector of det_metric, which is not
// copied. Up to 256 metrics take no heap memory.
class Train {
 public:
  explicit Train(det_train_context *train) noexcept : train_(train) {}

  using Metrics = std::initializer_list<det_metric>;

  template <class Range = Metrics>
  void report_training_metrics(int64_t steps_completed, Range &&metrics, OnFailure on = {}) const {
    detail::with_metrics(metrics, [&](const det_metric *first, size_t count) {
      detail::call(on, det_train_report_training_metrics, train_, steps_completed, first, count);
    });
  }
  template <class Range = Metrics>
  void report_validation_metrics(int64_t steps_completed, Range &&metrics,
                                 OnFailure on = {}) const {
    detail::with_metrics(metrics, [&](const det_metric *first, size_t count) {
      detail::call(on, det_train_report_validation_metrics, train_, steps_completed, first, count);
    });
  }
  // For your own group.
  template <class Range = Metrics>
  void report_metrics(Text group, int64_t steps_completed, Range &&metrics,
                      OnFailure on = {}) const {
    detail::with_metrics(metrics, [&](const det_metric *first, size_t count) {
      detail::call(on, det_train_report_metrics, train_, group.c_str(), steps_completed, first,
                   count);
    });
  }
  template <class Range = Metrics>
  void report(const Report &report, Range &&metrics, OnFailure on = {}) const {
    detail::with_metrics(metrics, [&](const det_metric *first, size_t count) {
      det_report all = DET_REPORT_INIT;
      all.group = report.group;
      all.steps_completed = report.steps_completed;
      all.metrics = first;
      all.count = count;
      all.metrics_json = report.metrics_json;
      all.batch_metrics_json = report.batch_metrics_json;
      all.time_us = report.time.time_since_epoch().count();
      all.rank = report.rank;
      detail::call(on, det_train_report, train_, &all);
    });
  }
  // Metrics of any JSON type, with those of each batch.
  void report_metrics_json(Text group, int64_t steps_completed, const Json &metrics,
                           const Json &batch_metrics = {}, OnFailure on = {}) const {
    detail::call(on, det_train_report_metrics_json, train_, group.c_str(), steps_completed,
                 metrics.capi(), batch_metrics.capi());
  }

  // A phase of the program: const auto timed = forward.scope().
  [[nodiscard]] Region region(Text name, OnFailure on = {}) const {
    det_region number = 0;
    detail::call(on, det_train_name_region, train_, name.c_str(), &number);
    return Region(train_, number);
  }

  // Waits until the master has every report made before.
  void flush(Timeout timeout = {}, OnFailure on = {}) const {
    detail::call(on, det_train_flush, train_, timeout.capi());
  }
  void set_status(Text status, OnFailure on = {}) const {
    detail::call(on, det_train_set_status, train_, status.c_str());
  }
  void report_progress(double progress, OnFailure on = {}) const {
    detail::call(on, det_train_report_progress, train_, progress);
  }
  // Writes a line into the trial's log.
  void log(LogLevel level, Text text, OnFailure on = {}) const {
    detail::call(on, det_train_log, train_, static_cast<det_log_level>(level), text.c_str());
  }
  void report_early_exit(EarlyExitReason reason, OnFailure on = {}) const {
    detail::call(on, det_train_report_early_exit, train_,
                 static_cast<det_early_exit_reason>(reason));
  }

  void set_metadata(const Json &metadata, OnFailure on = {}) const {
    detail::call(on, det_train_set_metadata, train_, metadata.capi());
  }
  [[nodiscard]] Json get_metadata(OnFailure on = {}) const {
    return detail::answer(on, det_train_get_metadata, train_);
  }
  [[nodiscard]] double get_experiment_best_validation(OnFailure on = {}) const {
    double best = 0;
    detail::call(on, det_train_get_experiment_best_validation, train_, &best);
    return best;
  }

  [[nodiscard]] std::filesystem::path get_tensorboard_path(OnFailure on = {}) const {
    char *path = nullptr;
    detail::call(on, det_train_get_tensorboard_path, train_, &path);
    return detail::taken(path);
  }
  // For TensorboardMode::manual. By default it uploads every changed file under its own name.
  void upload_tensorboard_files(const TensorboardSelector &selector = {},
                                const TensorboardMangler &mangler = {}, OnFailure on = {}) const;

  [[nodiscard]] det_train_context *capi() const noexcept { return train_; }

 private:
  det_train_context *train_;
};

inline void Train::upload_tensorboard_files(const TensorboardSelector &selector,
                                            const TensorboardMangler &mangler, OnFailure on) const {
  struct Callbacks {
    const TensorboardSelector &selector;
    const TensorboardMangler &mangler;
  } callbacks{selector, mangler};
  const auto select = [](const char *path, void *self) noexcept {
    return detail::answered(-1,
                            [&] { return static_cast<Callbacks *>(self)->selector(path) ? 1 : 0; });
  };
  const auto mangle = [](const char *path, int32_t rank, char *out, size_t size,
                         void *self) noexcept {
    return detail::answered(-1, [&] {
      const std::string name = static_cast<Callbacks *>(self)->mangler(path, rank);
      if (name.size() >= size) return -1;
      std::copy_n(name.c_str(), name.size() + 1, out);
      return 0;
    });
  };
  detail::call(on, det_train_upload_tensorboard_files, train_,
               selector ? det_tensorboard_selector(select) : nullptr,
               mangler ? det_tensorboard_mangler(mangle) : nullptr,
               static_cast<void *>(&callbacks));
}

}  // namespace v1
}  // namespace det
