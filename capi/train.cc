#include <det/train.h>

#include <algorithm>
#include <array>

#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/host_log.h"

// Reports go to the core without a copy.
static_assert(sizeof(det_metric) == sizeof(det::journal::NamedValue));
static_assert(offsetof(det_metric, name) == offsetof(det::journal::NamedValue, name));
static_assert(offsetof(det_metric, value) == offsetof(det::journal::NamedValue, value));

namespace {

const det::journal::NamedValue *values_from(const det_metric *metrics, size_t count) {
  if (counted(count, "count") > 0 && metrics == nullptr)
    throw det::Error(det::Code::invalid,
                     "metrics must not be NULL with count " + std::to_string(count));
  return reinterpret_cast<const det::journal::NamedValue *>(metrics);
}

std::string reason_name(det_early_exit_reason reason) {
  switch (reason) {
    case DET_EARLY_EXIT_REASON_INVALID_HP:
      return "EXITED_REASON_INVALID_HP";
    case DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP:
      return "EXITED_REASON_USER_REQUESTED_STOP";
    default:
      throw det::Error(det::Code::invalid,
                       "reporting an early exit: there is no reason " + std::to_string(reason));
  }
}

det::storage::Selector to_selector(det_tensorboard_selector selector, void *user_data) {
  if (selector == nullptr) return nullptr;
  return [selector, user_data](const std::string &path) {
    const int32_t answer = selector(path.c_str(), user_data);
    if (answer < 0)
      throw det::Error(det::Code::callback, "uploading TensorBoard files: the selector answered " +
                                                std::to_string(answer) + " for '" + path + "'");
    return answer != 0;
  };
}

det::tensorboard::Mangler to_mangler(det_tensorboard_mangler mangler, void *user_data) {
  if (mangler == nullptr) return nullptr;
  return [mangler, user_data](const std::string &path, int rank) {
    std::array<char, 4096> name{};
    const int32_t answer = mangler(path.c_str(), rank, name.data(), name.size(), user_data);
    if (answer < 0)
      throw det::Error(det::Code::callback, "uploading TensorBoard files: the mangler answered " +
                                                std::to_string(answer) + " for '" + path + "'");
    name.back() = '\0';
    return std::string(name.data());
  };
}

}  // namespace

det_status det_train_report_training_metrics(det_train_context *train, int64_t steps_completed,
                                             const det_metric *metrics, size_t count,
                                             det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train").impl.report_training(steps_completed, values_from(metrics, count), count);
  });
}

det_status det_train_report_validation_metrics(det_train_context *train, int64_t steps_completed,
                                               const det_metric *metrics, size_t count,
                                               det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train")
        .impl.report_validation(steps_completed, values_from(metrics, count), count);
  });
}

det_status det_train_report_metrics(det_train_context *train, const char *group,
                                    int64_t steps_completed, const det_metric *metrics,
                                    size_t count, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train")
        .impl.report(text(group, "group"), steps_completed, values_from(metrics, count), count);
  });
}

det_status det_train_report_metrics_json(det_train_context *train, const char *group,
                                         int64_t steps_completed, const char *metrics_json,
                                         const char *batch_metrics_json, det_error *err) noexcept {
  return guarded(err, [&] {
    const det::Json metrics =
        det::parse_json_object(text(metrics_json, "metrics_json"), "metrics_json");
    std::optional<det::Json> batches;
    if (batch_metrics_json != nullptr)
      batches = det::parse_json(batch_metrics_json, "batch_metrics_json");
    deref(train, "train").impl.report_json(text(group, "group"), steps_completed, metrics, batches);
  });
}

det_status det_train_report(det_train_context *train, const det_report *report,
                            det_error *err) noexcept {
  return guarded(err, [&] {
    det::context::TrainContext &impl = deref(train, "train").impl;
    const auto given =
        read_options<det_report>(&deref(report, "report"), DET_REPORT_INIT, "report");
    const char *group = given.group != nullptr ? given.group : "training";
    const det::Measured measured{given.time_us, given.rank};
    const det::journal::NamedValue *values = values_from(given.metrics, given.count);
    if (given.metrics_json == nullptr && given.batch_metrics_json == nullptr)
      return impl.report(group, given.steps_completed, values, given.count, measured);
    det::Json metrics = given.metrics_json != nullptr
                            ? det::parse_json_object(given.metrics_json, "report.metrics_json")
                            : det::Json::object();
    for (size_t i = 0; i < given.count; ++i) {
      const char *name = text(values[i].name, "the name of a metric");
      if (!metrics.emplace(name, values[i].value).second)
        throw det::Error(det::Code::invalid, std::string("reporting metrics: there are two of the "
                                                         "name '") +
                                                 name + "'");
    }
    std::optional<det::Json> batches;
    if (given.batch_metrics_json != nullptr)
      batches = det::parse_json(given.batch_metrics_json, "report.batch_metrics_json");
    impl.report_json(group, given.steps_completed, metrics, batches, measured);
  });
}

det_status det_train_name_region(det_train_context *train, const char *name, det_region *out,
                                 det_error *err) noexcept {
  return guarded(err, [&] {
    det_region &region = deref(out, "out");
    region = 0;
    region = deref(train, "train").impl.open_regions().name(text(name, "name"));
  });
}

det_status det_train_begin_region(det_train_context *train, det_region region,
                                  det_error *err) noexcept {
  return guarded(err, [&] { deref(train, "train").impl.open_regions().begin(region); });
}

det_status det_train_end_region(det_train_context *train, det_region region,
                                det_error *err) noexcept {
  return guarded(err, [&] { deref(train, "train").impl.open_regions().end(region); });
}

det_status det_train_flush(det_train_context *train, det_timeout timeout_ms,
                           det_error *err) noexcept {
  return guarded(err, [&] {
    constexpr std::chrono::seconds usual{60};
    deref(train, "train").impl.flush(limit_from(timeout_ms, usual, "timeout_ms"));
  });
}

det_status det_train_set_status(det_train_context *train, const char *status,
                                det_error *err) noexcept {
  return guarded(err, [&] { deref(train, "train").impl.set_status(text(status, "status")); });
}

det_status det_train_report_progress(det_train_context *train, double progress,
                                     det_error *err) noexcept {
  return guarded(err, [&] { deref(train, "train").impl.report_progress(progress); });
}

det_status det_train_log(det_train_context *train, det_log_level level, const char *line,
                         det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train")
        .impl.log(log_level_from(level, det::LogLevel::warning, "logging: level"),
                  text(line, "text"));
  });
}

det_status det_train_report_early_exit(det_train_context *train, det_early_exit_reason reason,
                                       det_error *err) noexcept {
  return guarded(err, [&] { deref(train, "train").impl.report_early_exit(reason_name(reason)); });
}

det_status det_train_set_metadata(det_train_context *train, const char *metadata_json,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train")
        .impl.set_metadata(
            det::parse_json_object(text(metadata_json, "metadata_json"), "metadata_json"));
  });
}

det_status det_train_get_metadata(det_train_context *train, char **out_json,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(det::to_wire(deref(train, "train").impl.metadata())); });
  });
}

det_status det_train_get_experiment_best_validation(det_train_context *train, double *out,
                                                    det_error *err) noexcept {
  return guarded(err, [&] {
    double &result = deref(out, "out");
    const std::optional<double> best = deref(train, "train").impl.best_validation();
    if (!best)
      throw det::Error(det::Code::not_found,
                       "looking for the best validation of the experiment: none with the searcher "
                       "metric was reported yet; report it, and set searcher.metric in the "
                       "configuration");
    result = *best;
  });
}

det_status det_train_get_tensorboard_path(det_train_context *train, char **out,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return copy_text(deref(train, "train").impl.tensorboard().path().string()); });
  });
}

int32_t det_tensorboard_rank_aware_name(const char *path, int32_t rank, char *out, size_t size,
                                        void * /*user_data*/) noexcept {
  const det_status status = guarded(nullptr, [&] {
    const std::string name = det::tensorboard::rank_aware_name(&deref(path, "path"), rank);
    if (name.size() >= size)
      throw det::Error(det::Code::invalid, "naming a trace: " + std::to_string(size) +
                                               " bytes for " + std::to_string(name.size() + 1));
    std::copy_n(name.c_str(), name.size() + 1, &deref(out, "out"));
  });
  return status == DET_OK ? 0 : -1;
}

det_status det_train_upload_tensorboard_files(det_train_context *train,
                                              det_tensorboard_selector selector,
                                              det_tensorboard_mangler mangler, void *user_data,
                                              det_error *err) noexcept {
  return guarded(err, [&] {
    deref(train, "train")
        .impl.tensorboard()
        .upload(to_selector(selector, user_data), to_mangler(mangler, user_data));
  });
}
