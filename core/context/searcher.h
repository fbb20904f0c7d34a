// What the search asks this trial to train.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "core/base/json_fwd.h"
#include "core/comm/communicator.h"
#include "core/context/lifetime.h"
#include "core/engine/runs/run_backend.h"

namespace det::context {

class TrainContext;
class SearcherContext;

// Same numbers as in include/det/searcher.h.
enum class SearcherMode : int { workers_ask_chief = 0, chief_only = 1 };
enum class Unit : int { none = 0, epochs = 1, records = 2, batches = 3 };

// The unit of lengths, from the `searcher` section of an experiment configuration.
Unit configured_units(const Json &config);

// On any rank but the chief it has a length and nothing else.
class SearcherOperation {
 public:
  explicit SearcherOperation(SearcherContext &searcher) : searcher_(searcher) {}
  uint64_t length() const { return length_; }
  void report_progress(double length);
  void report_completed(const Json &metric);

 private:
  friend class SearcherContext;
  SearcherContext &searcher_;
  uint64_t length_ = 0;
  bool completed_ = false;
};

class SearcherContext {
 public:
  SearcherContext(const Lifetime &lifetime, comm::Communicator &communicator,
                  engine::RunBackend &master, TrainContext &train);

  void configure(SearcherMode mode, bool auto_acknowledge);

  // Null when there is no more work for now. What it gives lives as long as the searcher.
  SearcherOperation *next();
  void acknowledge_out_of_operations();
  Unit units() const { return units_; }
  // Whether no operation that was handed out is left to do. Does not block.
  bool has_completed() const { return exhausted_ || completed_; }

 private:
  friend class SearcherOperation;
  void check_chief(const char *call) const;
  std::optional<uint64_t> next_of_chief();
  using Room = std::list<SearcherOperation>;  // for one
  SearcherOperation *hand_out(Room room, std::optional<uint64_t> length);
  const Lifetime &lifetime_;
  comm::Communicator &communicator_;
  engine::RunBackend &master_;
  TrainContext &train_;
  const Unit units_;

  std::mutex mutex_;
  SearcherMode mode_ = SearcherMode::workers_ask_chief;
  bool auto_acknowledge_ = true;
  bool started_ = false;
  std::atomic<bool> exhausted_{false};
  bool acknowledged_ = false;
  std::list<SearcherOperation> operations_;
  std::atomic<bool> completed_{false};  // the last of them
};

}  // namespace det::context
