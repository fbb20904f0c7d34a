// Reports of metrics as rows: one for each step of each group.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "library_client.h"

namespace det::cli {

struct MetricRow {
  Json group, steps, run, time;
  std::vector<Json> values;  // one for each column; null where the report has none
};

// Merges reports that follow each other with the same steps and run into one row for each group.
class RowMerger {
 public:
  // Answers whether more rows are wanted.
  using Take = std::function<bool(const MetricRow &)>;
  RowMerger(const std::vector<std::string> &columns, Take take);

  bool add(const Json &report);
  bool finish();  // what has not been taken yet

 private:
  MetricRow &row_of(const Json &report);

  std::unordered_map<std::string, size_t> places_;  // of the columns
  Take take_;
  std::vector<MetricRow> rows_;
};

}  // namespace det::cli
