// What runs of a master over HTTP left behind on this machine.
#pragma once

#include <memory>

#include "core/base/log/log.h"
#include "core/journal/dead_ranks.h"
#include "core/master/rest/master_session.h"

namespace det::master {

// Takes over the directory of every dead rank, ships its journals, tells the end of an unmanaged
// run that could not be told, and removes the directory. `offer_refused`: what the master refused
// is offered to it once more. What cannot be recovered stays where it is and is told to `logger`;
// the first such failure is thrown at the end.
journal::Recovery recover_rest_runs(const std::shared_ptr<MasterSession> &session,
                                    bool offer_refused, const std::shared_ptr<Logger> &logger);

}  // namespace det::master
