// What is kept about the trials of a search, whatever its method.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/search/method.h"
#include "core/search/search.h"

namespace det::search {

class Bookkeeping {
 public:
  explicit Bookkeeping(SearchRules rules) : rules_(rules) {}

  void requested(size_t trials) { requested_ += trials; }
  void created(TrialIndex trial);
  // Throws Code::invalid when the trial completed this operation before.
  void check_completion(const TrialTable &trials, TrialIndex trial, uint64_t length) const;
  void completed(TrialIndex trial, uint64_t length);
  // False, and nothing is noted, when the trial exited early before.
  bool exited_early(TrialIndex trial, ExitReason reason);
  void closed(TrialIndex trial);
  void progress(TrialIndex trial, double progress);

  const TrialTotals &totals() const { return totals_; }

  // Once, when all trials that were requested are closed. It is a cancel only after closed().
  std::optional<Shutdown> shutdown(bool may_cancel);

  Json snapshot(const TrialTable &trials) const;
  void restore(const Json &snapshot, TrialTable &trials);

 private:
  struct Record {
    bool created = false;
    bool closed = false;
    bool exited = false;
    bool canceled = false;
    bool failed = false;
    bool reporting = false;
    double progress = 0;
    std::vector<uint64_t> completed;  // lengths
  };

  Record &record(TrialIndex trial);
  void count_open(const Record &record, int sign);

  const SearchRules rules_;
  std::vector<Record> records_;
  TrialTotals totals_;
  size_t requested_ = 0;
  size_t canceled_ = 0;
  size_t failed_ = 0;
  bool shut_down_ = false;
};

}  // namespace det::search
