// Reports on their way into the store: each once, conflicts told, rollbacks applied.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/report.h"
#include "core/engine/best_validation.h"
#include "core/engine/database.h"
#include "core/engine/known_names.h"
#include "core/engine/metric_text.h"
#include "core/engine/repeats.h"

namespace det::engine {

class ReportWriter {
 public:
  // `store` outlives the writer and is used by nobody else during deliver().
  explicit ReportWriter(Database &store)
      : store_(store), repeats_(store), best_(store), names_(store) {}

  // As ReportSink::deliver(), in one transaction. Throws Code::not_found for an unknown trial.
  Delivery deliver(const JournalKey &journal, std::span<const Report> reports);
  void make_durable() { durability_ = Durability::durable; }  // what is delivered from now on

 private:
  // Where a run took up the work again, by kind of group: training, validation, all others.
  using Rollback = std::array<std::optional<int64_t>, 3>;

  uint64_t watermark(const JournalKey &journal);
  void begin(const JournalKey &journal);
  void store(const JournalKey &journal, const Report &report, Delivery &delivery);
  void store_metrics(const JournalKey &journal, const Report &report, Delivery &delivery);
  void store_checkpoint(const JournalKey &journal, const Report &report, Delivery &delivery);
  void roll_back(const JournalKey &journal, size_t kind, int64_t steps);
  bool is_rolled_back(size_t kind, int64_t steps) const;

  Database &store_;
  Repeats repeats_;
  BestValidations best_;
  KnownNames names_;
  MetricText text_;

  // A sync of the disk for each delivery would cost more than the last moment before a power cut.
  Durability durability_ = Durability::relaxed;

  // Of the delivery under way.
  bool latest_run_ = true;
  Rollback own_;    // of this run
  Rollback later_;  // the lowest of later runs
  std::optional<std::string> status_;
  std::optional<double> progress_;
};

}  // namespace det::engine
