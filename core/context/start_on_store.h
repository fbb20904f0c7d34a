// Starting a run in an embedded store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/process.h"
#include "core/comm/communicator.h"
#include "core/context/options.h"
#include "core/context/place.h"
#include "core/master/embedded/embedded_master.h"

namespace det::context {

// On the chief; gives the ticket for the other ranks.
Json start_on_store(const CoreOptions &options, std::vector<engine::RankProcess> workers,
                    const std::shared_ptr<Logger> &logger, Place &place);

void join_on_store(const Json &ticket, const CoreOptions &options, const comm::Ranks &ranks,
                   const std::shared_ptr<Logger> &logger, Place &place);

}  // namespace det::context
