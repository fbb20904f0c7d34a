// The recorded calls of a det_train_context.
#pragma once

#include <det/train.h>

#include <string>
#include <vector>

#include "tests/rest/leg/check.h"

namespace leg {

// Bare, as Python writes what JSON has no numbers for.
inline std::string with_bare_numbers(const Json &metrics) {
  std::string text = metrics.dump();
  for (const char *name : {"NaN", "Infinity"})
    for (const std::string quoted = '"' + std::string(name) + '"'; text.find(quoted) != text.npos;)
      text.replace(text.find(quoted), quoted.size(), name);
  return text;
}

class Reports : Checked {
 public:
  explicit Reports(det_train_context *train) : train_(train) {}

  // In the plainest of the forms that can say it.
  void report(const Json &call) {
    const std::string group = call[1];
    const int64_t steps = call[2];
    const Json &values = call[3];
    std::vector<det_metric> metrics;
    for (const auto &[name, value] : values.items())
      if (value.is_number()) metrics.push_back({name.c_str(), value.get<double>()});
    const size_t count = metrics.size();
    if (count < values.size() || call.size() > 4)
      must(report_json(group, steps, values, call.size() > 4 ? call[4] : Json()));
    else if (group == "training")
      must(det_train_report_training_metrics(train_, steps, metrics.data(), count, &error_));
    else if (group == "validation")
      must(det_train_report_validation_metrics(train_, steps, metrics.data(), count, &error_));
    else
      must(det_train_report_metrics(train_, group.c_str(), steps, metrics.data(), count, &error_));
  }

  void report_refused(const Json &call) {
    report(call);
    expect(det_train_flush(train_, long_enough_ms, &error_), DET_E_CONFLICT);
  }

  void flush() { must(det_train_flush(train_, long_enough_ms, &error_)); }

  // It took the recorded trial a while to the next one, which would overtake this one here.
  void progress(double fraction) {
    must(det_train_report_progress(train_, fraction, &error_));
    flush();
  }

  void set_status(const std::string &text) {
    must(det_train_set_status(train_, text.c_str(), &error_));
    flush();
  }

  void log() { must(det_train_log(train_, DET_LOG_LEVEL_INFO, "a line", &error_)); }

  void check_best_validation(const Json &expected) {
    double best = 0;
    const det_status status = det_train_get_experiment_best_validation(train_, &best, &error_);
    if (expected.is_null()) return expect(status, DET_E_NOT_FOUND);
    must(status);
    if (best != expected) fail("it is " + std::to_string(best));
  }

  void exit_early(const std::string &reason) {
    if (reason != "EXITED_REASON_INVALID_HP") fail("there is no such reason here");
    must(det_train_report_early_exit(train_, DET_EARLY_EXIT_REASON_INVALID_HP, &error_));
  }

 private:
  det_status report_json(const std::string &group, int64_t steps, const Json &values,
                         const Json &batches) {
    return det_train_report_metrics_json(
        train_, group.c_str(), steps, with_bare_numbers(values).c_str(),
        batches.is_null() ? nullptr : with_bare_numbers(batches).c_str(), &error_);
  }

  det_train_context *const train_;
};

}  // namespace leg
