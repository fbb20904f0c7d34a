#include "core/master/rest/checkpoint_call.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/master/rest/final_responses.h"

namespace det::master {

namespace {

codec::ReportCheckpoint checkpoint_call_for(const ReportOrigin &origin,
                                            const engine::CheckpointReport &report,
                                            int64_t time_us) {
  codec::Checkpoint checkpoint{.uuid = report.id,
                               .task_id = origin.task_id,
                               .storage_id = origin.storage_id,
                               .report_time = codec::Time{time_us},
                               .resources = report.resources,
                               .metadata = report.metadata};
  if (origin.managed) checkpoint.allocation_id = origin.allocation_id;
  return {std::move(checkpoint)};
}

CallOptions in_time_until(std::chrono::steady_clock::time_point end) {
  using std::chrono::milliseconds;
  const auto left = std::max(
      milliseconds(1), std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()));
  return {.replay = http::Replay::safe, .timeout = left, .limit = left};
}

// Throws what may_work_later() when the master cannot say.
bool is_known_checkpoint(MasterSession &session, const std::string &id,
                         const CallOptions &options) {
  try {
    return find_checkpoint(session, id, options).has_value();
  } catch (const Error &error) {
    throw as_passing(error);
  }
}

}  // namespace

std::optional<codec::Checkpoint> find_checkpoint(MasterSession &session, const std::string &id,
                                                 const CallOptions &options) {
  const http::HttpResponse answer = session.ask(codec::GetCheckpoint{id}, options);
  // A proxy's 404 says nothing about the checkpoint.
  if (answer.status == 404 && find_final(answer) != nullptr) return std::nullopt;
  return session.read<codec::GetCheckpoint>(answer).checkpoint;
}

void tell_checkpoint(MasterSession &session, const ReportOrigin &origin,
                     const engine::CheckpointReport &report, int64_t time_us,
                     std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool first = true;; first = false) {
    const http::HttpResponse answer =
        session.ask(checkpoint_call_for(origin, report, time_us), in_time_until(end));
    try {
      session.read<codec::ReportCheckpoint>(answer);
      return;
    } catch (const Error &error) {
      // Masters answer 500 to a repeat, to a wrong report, and while their database is away.
      if (answer.status == 500 && is_known_checkpoint(session, report.id, in_time_until(end)))
        return;
      if (find_final(answer) != nullptr) throw;
      if (is_inner_failure(answer) && first) continue;
      if (is_unexplained(answer)) throw UnexplainedRefusal(error);
      throw as_passing(error);
    }
  }
}

}  // namespace det::master
