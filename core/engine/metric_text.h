// The metrics of a report as the JSON text that the store keeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json.h"
#include "core/base/report.h"
#include "core/base/string_hash.h"

namespace det::engine {

// Holds one report at a time and is used again for the next, so that it needs no memory of its own
// for each.
class MetricText {
 public:
  // Throws Code::invalid for text that is no JSON.
  void read(const Report &report);

  // Non-finite numbers are the texts "NaN", "Infinity", "-Infinity".
  std::string_view metrics() const { return metrics_; }
  // None when the report had no batches.
  std::optional<std::string_view> batches() const;

  // Of the metrics, also where they were reduced; with dots, of those in objects. Until the report
  // is gone.
  const std::vector<std::string_view> &names() const { return names_; }

  // Leaves only these.
  void reduce_metrics(const Json &metrics);
  bool is_reduced() const { return is_reduced_; }
  void drop_batches() { batches_.clear(); }

 private:
  const std::string &quoted(std::string_view name);

  std::string metrics_;
  std::string batches_;
  std::vector<std::string> dotted_;  // names that no report has as they are
  std::vector<std::string_view> names_;
  bool is_reduced_ = false;
  std::unordered_map<std::string, std::string, StringHash, std::equal_to<>> quoted_;
};

}  // namespace det::engine
