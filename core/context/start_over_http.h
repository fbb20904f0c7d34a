// Starting a run of a master over HTTP: one that its cluster has scheduled, or one of this process
// on its own.
#pragma once

#include <memory>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/options.h"
#include "core/context/place.h"

namespace det::context {

// On every rank. One of each container meets the other containers where set-up has not done so.
void reach_cluster(const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place);
void reach_as_user(const std::shared_ptr<Logger> &logger, Place &place);

// On the chief; each gives the ticket for the other ranks.
Json start_in_cluster(const CoreOptions &options, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place);
Json start_unmanaged(const CoreOptions &options, const comm::Ranks &ranks,
                     const std::shared_ptr<Logger> &logger, Place &place);

void join_in_cluster(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                     const std::shared_ptr<Logger> &logger, Place &place);
void join_unmanaged(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                    const std::shared_ptr<Logger> &logger, Place &place);

}  // namespace det::context
