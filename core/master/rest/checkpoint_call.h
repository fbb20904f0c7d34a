// Telling a master of a checkpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/codec/checkpoints.h"
#include "core/master/master.h"
#include "core/master/rest/master_session.h"
#include "core/master/rest/parcel.h"

namespace det::master {

// What the master has of it, in whatever state; none where it knows of no such checkpoint.
std::optional<codec::Checkpoint> find_checkpoint(MasterSession &session, const std::string &id,
                                                 const CallOptions &options = {});

// Returns when the master has it, from now or before. Throws the master's
// refusal, and for all else what may_work_later().
void tell_checkpoint(MasterSession &session, const ReportOrigin &origin,
                     const engine::CheckpointReport &report, int64_t time_us,
                     std::chrono::milliseconds limit);

}  // namespace det::master
