// Telling a master of a checkpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/codec/checkpoints.h"
#include "core/engine/runs/run_backend.h"
#include "core/master/rest/master_session.h"
#include "core/master/rest/report_request.h"

namespace det::master {

// What the master has of it, in whatever state; none where it knows of no such checkpoint.
std::optional<codec::Checkpoint> find_checkpoint(MasterSession &session, const std::string &id,
                                                 const CallOptions &options = {});

// A master answered 500 without a reason, and showed by another answer that it can look for the
// checkpoint and does not have it. It may_work_later().
struct UnexplainedRefusal : Error {
  explicit UnexplainedRefusal(const Error &refusal) : Error(as_passing(refusal)) {}
};

// Returns when the master has it, from now or before. Throws the master's refusal, an
// UnexplainedRefusal, and for all else what may_work_later().
void tell_checkpoint(MasterSession &session, const ReportOrigin &origin,
                     const engine::CheckpointReport &report, int64_t time_us,
                     std::chrono::milliseconds limit);

}  // namespace det::master
