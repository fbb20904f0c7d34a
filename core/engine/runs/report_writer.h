// Reports on their way into the store: each once, conflicts told, rollbacks applied.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/json.h"
#include "core/base/report.h"
#include "core/base/text/string_hash.h"
#include "core/engine/database.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/runs/metric_rows.h"

namespace det::engine {

// The metrics of a report as the JSON text that the store keeps.
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
  std::string metrics_;
  std::string batches_;
  std::vector<std::string> dotted_;  // names that no report has as they are
  std::vector<std::string_view> names_;
  bool is_reduced_ = false;
};

// Finds metrics that were reported before for the same group and step.
// Remembers the last step of each group: a report of a later one, the normal case, repeats nothing
// and costs no look into the store.
class Repeats {
 public:
  // `rows`: of which some may not be in the store yet.
  Repeats(Database &store, MetricRows &rows) : store_(store), rows_(rows) {}

  // Starts a delivery for a trial, inside its transaction.
  void begin(int64_t trial_id);

  // What is remembered may differ from what is stored.
  void forget() { last_.clear(); }

  // Takes out of `text` what was reported before, and adds a message for each metric whose value
  // differs now. False when nothing is left to store.
  bool admit(std::string_view group, int64_t steps, MetricText &text,
             std::vector<std::string> &conflicts);

 private:
  using Values = std::map<std::string, Json, std::less<>>;

  // What is known of one step of a group.
  struct Step {
    int64_t steps = -1;
    bool loaded = false;  // `values` and `batches` say all that is stored, save for `pending`
    std::string pending;  // metrics of the only report so far, not yet parsed
    Values values;
    bool batches = false;
  };

  Step &last_step(std::string_view group);
  void load(std::string_view group, Step &step);

  Database &store_;
  MetricRows &rows_;
  int64_t trial_id_ = 0;
  int64_t data_version_ = -1;
  std::unordered_map<std::string, Step, StringHash, std::equal_to<>> last_;
};

// The names in the reports of trials, kept beside them: a trial may have millions of reports.
class KnownNames {
 public:
  explicit KnownNames(Database &store) : store_(store) {}

  // Starts a delivery for a trial, inside its transaction.
  void begin(int64_t trial_id) {
    if (trial_id != trial_id_) forget();
    trial_id_ = trial_id;
  }

  // What is remembered may differ from what is stored.
  void forget() { known_.clear(); }

  void add(std::string_view group, const std::vector<std::string_view> &names);

 private:
  struct Names {
    std::vector<std::string> latest;  // those of the next report are mostly the same
    std::unordered_set<std::string, StringHash, std::equal_to<>> all;
  };

  Database &store_;
  int64_t trial_id_ = 0;
  std::map<std::string, Names, std::less<>> known_;  // by group
};

class ReportWriter {
 public:
  // `store` outlives the writer and is used by nobody else during deliver().
  explicit ReportWriter(Database &store)
      : store_(store), rows_(store), repeats_(store, rows_), best_(store), names_(store) {}

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
  MetricRows rows_;
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
