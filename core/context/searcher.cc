#include "core/context/searcher.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/train.h"

namespace det::context {

namespace {

Unit unit_named(const Json &name) {
  if (name == "epochs") return Unit::epochs;
  if (name == "records") return Unit::records;
  if (name == "batches") return Unit::batches;
  return Unit::none;
}

}  // namespace

Unit configured_units(const Json &config) {
  const auto searcher = config.find("searcher");
  if (searcher == config.end() || !searcher->is_object()) return Unit::none;
  if (const auto unit = searcher->find("unit"); unit != searcher->end()) return unit_named(*unit);
  const auto length = searcher->find("max_length");
  if (length == searcher->end() || !length->is_object() || length->size() != 1) return Unit::none;
  return unit_named(length->begin().key());
}

SearcherContext::SearcherContext(const Lifetime &lifetime, comm::Communicator &communicator,
                                 engine::RunBackend &master, TrainContext &train)
    : lifetime_(lifetime),
      communicator_(communicator),
      master_(master),
      train_(train),
      units_(configured_units(master.info().config)) {}

void SearcherContext::check_chief(const char *call) const {
  if (communicator_.is_chief()) return;
  throw Error(Code::state, std::string("calling ") + call + " on rank " +
                               std::to_string(communicator_.ranks().rank) +
                               ": only the chief, rank 0, may");
}

void SearcherContext::configure(SearcherMode mode, bool auto_acknowledge) {
  lifetime_.check();
  if (mode != SearcherMode::workers_ask_chief && mode != SearcherMode::chief_only)
    throw Error(Code::invalid, "configuring the searcher: there is no mode " +
                                   std::to_string(static_cast<int>(mode)));
  const std::lock_guard guard(mutex_);
  if (started_)
    throw Error(Code::state,
                "configuring the searcher: operations were asked for already; configure first");
  mode_ = mode;
  auto_acknowledge_ = auto_acknowledge;
}

SearcherOperation *SearcherContext::next() {
  lifetime_.check();
  const profiler::LibraryCall timed(train_.regions());
  Room room;
  room.emplace_back(*this);  // before there is an operation to lose
  SearcherMode mode;
  {
    const std::lock_guard guard(mutex_);
    started_ = true;
    mode = mode_;
  }
  if (mode == SearcherMode::chief_only) {
    check_chief("searcher.operations in chief-only mode");
    return hand_out(std::move(room), next_of_chief());
  }
  // Every length is an operation, also 0; the empty text is none.
  const std::string length =
      comm::chief_decides(communicator_, {comm::ApiCall::searcher_next}, [&] {
        const std::optional<uint64_t> next = next_of_chief();
        return next ? std::to_string(*next) : std::string();
      });
  return hand_out(std::move(room),
                  length.empty() ? std::nullopt : std::optional<uint64_t>(std::stoull(length)));
}

std::optional<uint64_t> SearcherContext::next_of_chief() {
  const std::lock_guard guard(mutex_);
  if (!operations_.empty() && !operations_.back().completed_)
    throw Error(Code::state,
                "asking for the next operation: must call op.report_completed() on "
                "the operation of length " +
                    std::to_string(operations_.back().length_) + " first");
  const engine::SearchOperation operation = master_.operations().current();
  if (!operation.completed) return operation.length;
  if (!auto_acknowledge_ || acknowledged_) return std::nullopt;
  try {
    master_.operations().acknowledge_none_left();
  } catch (const Error &error) {
    if (error.code != Code::state) throw;
    // Others may have brought the search to a decision since it was asked.
    const engine::SearchOperation since = master_.operations().current();
    if (since.completed) throw;
    return since.length;
  }
  acknowledged_ = true;
  return std::nullopt;
}

SearcherOperation *SearcherContext::hand_out(Room room, std::optional<uint64_t> length) {
  const std::lock_guard guard(mutex_);
  exhausted_ = !length;
  if (!length) return nullptr;
  room.back().length_ = *length;
  operations_.splice(operations_.end(), room);
  completed_ = false;
  return &operations_.back();
}

void SearcherContext::acknowledge_out_of_operations() {
  lifetime_.check();
  const std::lock_guard guard(mutex_);
  if (acknowledged_) return;
  if (!exhausted_)
    throw Error(Code::state,
                "acknowledging that there are no more operations: there may be one; ask with "
                "det_searcher_next() until it answers DET_DONE");
  if (communicator_.is_chief()) master_.operations().acknowledge_none_left();  // it speaks for all
  acknowledged_ = true;
}

void SearcherOperation::report_progress(double length) {
  searcher_.lifetime_.check();
  searcher_.check_chief("op.report_progress");
  if (!std::isfinite(length) || length < 0)
    throw Error(Code::invalid, "reporting progress of " + std::to_string(length) +
                                   ": expected a finite length, 0 or more");
  const std::lock_guard guard(searcher_.mutex_);
  const auto target = static_cast<double>(length_);
  if (completed_ && length != target)
    throw Error(Code::state, "reporting progress of " + std::to_string(length) +
                                 ": the operation of length " + std::to_string(length_) +
                                 " is completed");
  searcher_.train_.append_progress(length_ == 0 ? 1.0 : std::min(length / target, 1.0));
}

void SearcherOperation::report_completed(const Json &metric) {
  searcher_.lifetime_.check();
  const profiler::LibraryCall timed(searcher_.train_.regions());
  searcher_.check_chief("op.report_completed");
  const std::lock_guard guard(searcher_.mutex_);
  if (completed_)
    throw Error(Code::state, "completing the operation of length " + std::to_string(length_) +
                                 ": it was completed before; ask for the next one");
  // The master must not decide before it has the metrics that led here.
  searcher_.train_.delivery().deliver_all();
  searcher_.master_.operations().complete(length_, metric);
  completed_ = true;
  searcher_.completed_ = this == &searcher_.operations_.back();
}

}  // namespace det::context
