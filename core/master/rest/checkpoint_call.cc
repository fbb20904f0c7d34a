#include "core/master/rest/checkpoint_call.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

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

// Of an answer that is no refusal, whatever its status stands for otherwise.
Error as_passing(const Error &error) {
  return {may_work_later(error) ? error.code : Code::unavailable, error.what(), error.os_errno,
          error.http_status};
}

CallOptions in_time_until(std::chrono::steady_clock::time_point end) {
  using std::chrono::milliseconds;
  const auto left = std::max(
      milliseconds(1), std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now()));
  return {.replay = http::Replay::safe, .timeout = left, .limit = left};
}

// Throws what passes when the master cannot say.
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
  try {
    return session.call(codec::GetCheckpoint{id}, options).checkpoint;
  } catch (const Error &error) {
    if (error.code == Code::not_found) return std::nullopt;
    throw;
  }
}

void tell_checkpoint(MasterSession &session, const ReportOrigin &origin,
                     const engine::CheckpointReport &report, int64_t time_us,
                     std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (bool first = true;; first = false) {
    const http::HttpAnswer answer =
        session.ask(checkpoint_call_for(origin, report, time_us), in_time_until(end));
    try {
      session.read<codec::ReportCheckpoint>(answer);
      return;
    } catch (const Error &error) {
      if (!is_final_refusal(answer)) throw as_passing(error);
      if (answer.status != 500) throw;
      // To a repeat, to what is wrong in itself, and while the master's database is away.
      if (is_known_checkpoint(session, report.id, in_time_until(end))) return;
      if (!first) throw;
    }
  }
}

}  // namespace det::master
