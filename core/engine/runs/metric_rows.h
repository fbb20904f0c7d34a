// Rows on their way into the table of metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/report.h"
#include "core/engine/database.h"

namespace det::engine {

// Collects rows and inserts many with one statement: the database then finds the places in the
// table and its indexes once for all of them, which takes half of the time.
class MetricRows {
 public:
  explicit MetricRows(Database &store) : store_(store) {}

  // Starts a delivery of this journal, inside its transaction.
  void begin(const JournalKey &journal);

  // `group` is the report's; the texts are copied.
  void add(const Report &report, std::string_view metrics, std::optional<std::string_view> batches,
           bool archived);

  // Inserts what was added. Whoever reads the table, or wants the id of the last row, does so
  // after this.
  void insert();

 private:
  // In a statement. More are hardly quicker, and take long to compile.
  static constexpr size_t most = 32;
  static constexpr std::array<size_t, 3> sizes{most, 8, 1};

  static constexpr size_t most_text = size_t{1} << 18U;  // in bytes; a report may have more

  struct Text {
    size_t at = 0, size = 0;  // in `texts_`
  };
  struct Row {
    std::string_view group;
    int64_t steps = 0, time_us = 0;
    Text metrics;
    std::optional<Text> batches;
    bool archived = false;
    int rank = 0;
  };

  static std::string statement(size_t rows);
  Text keep(std::string_view text);
  std::string_view text(const Text &kept) const;
  void clear();
  void insert(size_t first, size_t size, const std::string &statement);

  Database &store_;
  int64_t trial_id_ = 0, run_id_ = 0;
  int rank_ = 0;
  std::vector<Row> rows_;
  std::string texts_;
  const std::array<std::string, 3> statements_{statement(sizes[0]), statement(sizes[1]),
                                               statement(sizes[2])};
};

}  // namespace det::engine
