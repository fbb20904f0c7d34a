// A master in memory, which can be told to fail.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/report.h"

namespace det::journal {

// A report with memory of its own.
struct KeptReport {
  uint64_t sequence = 0;
  int64_t time_us = 0;
  ReportKind kind = ReportKind::metrics;
  int64_t steps = 0;
  std::string group;
  std::vector<std::pair<std::string, double>> values;
  std::string text;
  std::string batches;
  double number = 0;
  int level = 0;
};

class RecordingSink : public ReportSink {
 public:
  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override {
    const std::lock_guard lock(mutex_);
    ++attempts;
    // Not a copy: in the library's exceptions copies share their text, which TSan cannot see into.
    if (failure_) throw Error(failure_->code, failure_->message, failure_->os_errno);
    if (failures_left > 0) {
      --failures_left;
      throw Error(Code::busy, "the store is locked");
    }
    key = journal;
    uint64_t &last = last_[journal.journal_id];
    for (const Report &report : reports) {
      if (report.sequence <= last) continue;
      last = report.sequence;
      keep(report);
      if (is_slow_going && tell_ && report.sequence != reports.back().sequence) {
        tell_(report.sequence + 1);
        throw Error(Code::unavailable, "only one of them");
      }
    }
    Delivery delivery = std::exchange(told_, {});
    delivery.conflicts.insert(delivery.conflicts.end(), conflicts.begin(), conflicts.end());
    conflicts.clear();
    // Stored, but the answer is lost: the reports come again.
    if (answers_to_lose > 0) {
      --answers_to_lose;
      throw Error(Code::unavailable, "no answer");
    }
    return delivery;
  }

  Delivery take_told() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(told_, {});
  }
  void on_progress(std::function<void(uint64_t)> tell) override { tell_ = std::move(tell); }

  void tell(Delivery delivery) {
    const std::lock_guard lock(mutex_);
    told_ = std::move(delivery);
  }
  void fail_with(Code code, const std::string &message, int os_errno = 0) {
    const std::lock_guard lock(mutex_);
    failure_ = {code, message, os_errno};
  }
  void succeed() {
    const std::lock_guard lock(mutex_);
    failure_.reset();
  }

  std::vector<KeptReport> kept() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

  std::atomic<int> attempts{0};
  int failures_left = 0;  // this and those below: to be set before the shipper starts
  int answers_to_lose = 0;
  bool is_slow_going = false;  // one report at an attempt
  std::vector<std::string> conflicts;
  JournalKey key;

 private:
  void keep(const Report &report) {
    KeptReport kept{report.sequence,
                    report.time_us,
                    report.kind,
                    report.steps,
                    std::string(report.group),
                    {},
                    std::string(report.text),
                    std::string(report.batches),
                    report.number,
                    report.level};
    for (const MetricValue &value : report.values)
      kept.values.emplace_back(std::string(value.name), value.value);
    kept_.push_back(std::move(kept));
  }

  mutable std::mutex mutex_;
  struct Failure {
    Code code;
    std::string message;
    int os_errno;
  };
  std::optional<Failure> failure_;
  Delivery told_;
  std::function<void(uint64_t)> tell_;
  std::map<std::string, uint64_t> last_;
  std::vector<KeptReport> kept_;
};

// Waits until `condition` holds; a test that waits in vain is ended by its own time limit.
template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace det::journal
