// What a trial reports, as the journal carries it and the master takes it. Here in base, since
// every room from TensorBoard up speaks of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det {

enum class ReportKind : uint8_t {
  metrics = 1,       // group, steps, `values`
  metrics_json = 2,  // group, steps, `text` (JSON object), `batches` (JSON array or empty)
  status = 3,        // `text`
  progress = 4,      // `number`: a fraction from 0 to 1
  log = 5,           // `level`, `text`
  checkpoint = 6,    // `text`: a checkpoint that is safe in its storage, packed
};

// `steps` of a report of metrics that were measured at a time and belong to no step of the
// training: what the profiler says. Each stands for itself, repeats nothing, and is never rolled
// back.
inline constexpr int64_t no_steps = -1;

// Of a report that says so; what is 0 is that of the process and moment that report.
struct Measured {
  int64_t time_us = 0;
  int rank = 0;
};

struct MetricValue {
  std::string_view name;
  double value;
};

// Views into the journal: valid while the journal's segment is mapped.
struct Report {
  uint64_t sequence = 0;  // grows with every report of one journal; never 0
  int64_t time_us = 0;
  ReportKind kind = ReportKind::metrics;
  int64_t steps = 0;
  std::string_view group;
  std::vector<MetricValue> values;
  std::string_view text;
  std::string_view batches;
  double number = 0;
  int level = 0;
  int rank = 0;  // whose measurement; 0: of the rank whose journal it is
};

// Whose journal a report comes from.
struct JournalKey {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int rank = 0;
  std::string journal_id;  // a UUID; (journal_id, sequence) names a report for ever
};

// One message for each metric that repeats an earlier one of its group and step with another
// value: the first value is kept; everything else of the report is stored. And one for each report
// that cannot be stored at all.
struct Delivery {
  std::vector<std::string> conflicts = {};
  // Reports that the master will never take, each of them; `conflicts` names the first of a kind.
  uint64_t set_aside = 0;
  uint64_t lost = 0;              // of them, with no room left where they are kept
  std::string set_aside_in = {};  // that file
};

// Takes reports in order, durably, each once: those at or below the highest sequence delivered
// before for the same journal are skipped. Throws when nothing was stored; the caller tries again.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual Delivery deliver(const JournalKey &journal, std::span<const Report> reports) = 0;

  // For sinks whose deliveries take long, since each report is a request of its own.

  // What a delivery that threw has to tell of the reports before, once.
  virtual Delivery take_told() { return {}; }

  // Who is told, on the thread that delivers, as deliveries proceed: all reports below this
  // sequence are there. Set while none is under way; empty: nobody.
  virtual void on_progress(std::function<void(uint64_t sequence)>) {}

  // From any thread: deliveries end at this time, with what got through.
  virtual void end_by(std::chrono::steady_clock::time_point) {}
};

}  // namespace det
