#include "core/master/rest/managed_trial.h"

#include <chrono>
#include <utility>

#include "core/base/error.h"
#include "core/codec/operation.h"
#include "core/codec/preemption.h"
#include "core/codec/run.h"

namespace det::master {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int64_t poll_seconds = 60;
constexpr seconds answer_margin{10};
constexpr seconds shortest_period{1};  // a master answers at once for an allocation that is gone
constexpr seconds pause_after_failure{10};
// The host that tells a process to stop leaves it little time: one attempt.
constexpr CallOptions hasty{.replay = http::Replay::never, .timeout = seconds(5)};

codec::EarlyExit early_exit_named(const std::string &reason) {
  const auto names = codec::wire_names(codec::EarlyExit());
  for (size_t i = 1; i < names.size(); ++i)
    if (reason == names[i]) return static_cast<codec::EarlyExit>(i);
  throw Error(Code::unsupported, "reporting the early exit " + reason +
                                     ": a master over HTTP takes EXITED_REASON_INVALID_HP and "
                                     "EXITED_REASON_INIT_INVALID_HP");
}

}  // namespace

bool ManagedPreemption::poll(const Wake &wake, int64_t timeout_seconds) {
  http::HttpCall call = session_.send(
      codec::PollPreemption{run_.info.allocation_id, timeout_seconds},
      {.replay = http::Replay::never, .timeout = seconds(timeout_seconds) + answer_margin});
  const std::optional<http::HttpResponse> answer = call.wait_unless(wake);
  return answer && session_.read<codec::PollPreemption>(*answer).preempt;
}

bool ManagedPreemption::wait(const Wake &wake) {
  while (!asked_) {
    const auto begun = steady_clock::now();
    auto pause = shortest_period;
    try {
      // The first one only asks what is so now, and may miss a signal that the next one tells.
      if (poll(wake, polled_ ? poll_seconds : 0)) asked_ = true;
      if (!std::exchange(polled_, true)) pause = seconds(0);
      if (std::exchange(poll_failed_, false)) logger_.info("asking whether to stop works again");
    } catch (const Error &error) {
      polled_ = true;
      if (!std::exchange(poll_failed_, true))
        logger_.warning(std::string(error.what()) + "; asking again every 10 seconds");
      pause = pause_after_failure;
    }
    if (!asked_ && wait_until(begun + pause, wake)) return false;
  }
  return true;
}

// To the master it is a wish of the scheduler, which it may grant by asking this trial to stop. One
// that does not answer must not keep the trial from saving.
void ManagedPreemption::note(const std::string &reason) {
  if (asked_) return;
  try {
    session_.call(codec::AnnouncePreemption{run_.info.allocation_id}, hasty);
    asked_ = true;
  } catch (const Error &error) {
    logger_.warning("telling the master of " + reason + ": " + error.what());
  }
}

bool ManagedPreemption::is_asked_now() {
  try {
    if (session_.call(codec::PollPreemption{run_.info.allocation_id, 1}, hasty).preempt)
      asked_ = true;
  } catch (const Error &error) {
    logger_.warning(error.what());
  }
  return asked_;
}

// One that is not pending would have the master start the trial again and again.
void ManagedPreemption::acknowledge() {
  if (asked_ || is_asked_now())
    return static_cast<void>(
        session_.call(codec::AcknowledgePreemption{run_.info.allocation_id}, repeatable));
  logger_.warning(
      "leaving without having been asked by the master: end the process with a nonzero status, or "
      "the master takes the trial as completed");
}

engine::SearchOperation ManagedOperations::ask() {
  const auto answer = session_.call(codec::GetOperation{run_.info.trial_id});
  return {answer.op ? answer.op->length : 0, answer.completed};
}

engine::SearchOperation ManagedOperations::current() {
  engine::SearchOperation operation;
  const std::lock_guard lock(mutex_);
  if (codec::has_call<codec::GetOperation>(session_.version())) {
    operation = ask();
    out_of_operations_ = operation.completed;
  } else {
    operation = {codec::configured_operation(run_.info.config).length, completed_};
  }
  if (!operation.completed) delivery_.set_operation_length(operation.length);
  return operation;
}

void ManagedOperations::complete(uint64_t length, const Json &metric) {
  const std::lock_guard lock(mutex_);
  if (!codec::has_call<codec::CompleteOperation>(session_.version())) {
    completed_ = true;  // the master has the validation metrics
    return;
  }
  try {
    session_.call(
        codec::CompleteOperation{run_.info.trial_id, length, std::make_optional<Json>(metric)},
        repeatable);
  } catch (const Error &error) {
    if (error.http_status != 500 && error.http_status != 400) throw;
    // Also the answer to a repeat, when the first one's got lost: then the search has moved on.
    const engine::SearchOperation now = ask();
    if (!now.completed && now.length <= length) throw;
  }
}

// Where the master has no operations there is nothing to acknowledge: it would start the trial
// again and again.
void ManagedOperations::acknowledge_none_left() {
  const std::lock_guard lock(mutex_);
  if (!out_of_operations_) return;
  session_.call(codec::AcknowledgePreemption{run_.info.allocation_id}, repeatable);
}

bool ManagedTrial::report_early_exit(const std::string &reason) {
  session().call(codec::ReportEarlyExit{run().info.trial_id, early_exit_named(reason)}, repeatable);
  return true;
}

void ManagedTrial::end_run(engine::RunEnd how) {
  if (how == engine::RunEnd::invalid_hp)
    session().call(codec::ReportEarlyExit{run().info.trial_id, codec::EarlyExit::invalid_hp},
                   {.replay = http::Replay::safe, .timeout = seconds(10)});
  remove_directory();
}

}  // namespace det::master
