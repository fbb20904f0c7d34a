#include "core/master/rest/unmanaged_trial.h"

#include <utility>

#include "core/base/error.h"
#include "core/codec/unmanaged.h"
#include "core/journal/run_directory.h"
#include "core/master/rest/final_state.h"
#include "core/search/single.h"

namespace det::master {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds period{60};
constexpr seconds period_after_failure{10};
constexpr CallOptions one_attempt{.replay = http::Replay::never, .timeout = seconds(30)};

// At the end of a process nobody waits for long.
http::HttpResponse in_time(http::HttpCall call) {
  if (call.wait_for(seconds(10))) return call.wait();
  call.cancel();
  throw Error(Code::timeout,
              "telling the master how the trial ended: no answer within 10 s; the end is kept, and "
              "`det sync` delivers it");
}

}  // namespace

void UnmanagedPreemption::beat(const Wake &wake) {
  next_beat_ = steady_clock::now() + period;
  codec::PatchTrial call{.trial_id = run_.info.trial_id};
  // Meanwhile the master may have taken it for dead, and only a state brings it back.
  if (beat_failed_) call.state = codec::TrialState::running;
  const uint64_t shown = session_.credential_number();
  try {
    http::HttpCall sent = session_.send(std::move(call), one_attempt);
    const std::optional<http::HttpResponse> answer = sent.wait_unless(wake);
    if (!answer) return;
    session_.read<codec::PatchTrial>(*answer);
    if (beat_failed_.exchange(false)) logger_.info("the master takes heartbeats again");
  } catch (const Error &error) {
    next_beat_ = steady_clock::now() + period_after_failure;
    if (error.http_status == 401 && session_.renew_credential(shown)) return;
    if (!beat_failed_.exchange(true))
      logger_.warning(std::string("sending a heartbeat: ") + error.what() +
                      "; trying again every 10 seconds");
  }
}

bool UnmanagedPreemption::keep_alive(const Wake &wake) {
  if (run_.rank != 0) return false;
  while (!wait_until(next_beat_, wake)) beat(wake);
  return true;
}

bool UnmanagedPreemption::wait(const Wake &wake) {
  if (run_.rank == 0) keep_alive(wake);
  else wait_until(steady_clock::time_point::max(), wake);
  return false;
}

void UnmanagedPreemption::note(const std::string &reason) {
  if (run_.rank != 0)
    throw Error(
        Code::unsupported,
        "no way leads to rank 0 in a trial without a cluster; let it have " + reason + " too");
}

engine::SearchOperation UnmanagedOperations::current() {
  return {search::single_length(run_.info.config), completed_};
}

bool UnmanagedTrial::report_early_exit(const std::string &reason) {
  logger().info("a trial without a cluster has no early exit: " + reason + " is not told");
  return true;
}

codec::TrialState UnmanagedTrial::state_after(engine::RunEnd how) const {
  if (how != engine::RunEnd::ok) return codec::TrialState::error;
  return preemption_.is_acknowledged() ? codec::TrialState::paused : codec::TrialState::completed;
}

// The crash of one rank is the crash of the run, however well the chief ends.
bool UnmanagedTrial::is_error_by_another_rank() {
  return run().size > 1 && preemption_.is_alive() &&
         session()
                 .read<codec::GetTrial>(
                     in_time(session().send(codec::GetTrial{run().info.trial_id})))
                 .trial.state == codec::TrialState::error;
}

void UnmanagedTrial::end_run(engine::RunEnd how) {
  const codec::TrialState state = state_after(how);
  if (run().rank != 0 && state != codec::TrialState::error) return remove_directory();
  const FinalState final_state(run().directory);
  // The end must not overtake the reports before it.
  if (journal::has_undelivered(run().directory)) {
    final_state.keep(state);
    return;
  }
  try {
    if (state == codec::TrialState::error || !is_error_by_another_rank())
      session().read<codec::PatchTrial>(
          in_time(session().send(codec::PatchTrial{run().info.trial_id, state}, repeatable)));
  } catch (...) {
    final_state.keep(state);
    throw;
  }
  remove_directory();
}

}  // namespace det::master
