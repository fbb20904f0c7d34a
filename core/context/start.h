// How the ranks of a job come to one run: each says who it is, the chief starts the run and hands
// out a ticket, the others join with it. The one place that knows which master and which storage it
// is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/config/location.h"
#include "core/context/options.h"
#include "core/master/master.h"
#include "core/storage/storage.h"

namespace det {

// Where a run is, on this rank.
struct Place {
  MasterLocation location;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<Master> master;
};

// What a rank says of itself before anything is started.
std::string introduction(const CoreOptions &options, const Ranks &ranks);

// Throws Code::invalid, on every rank the same, when options differ that must not.
void check_agreement(const std::vector<std::string> &introductions);

// On the chief: locates the master, recovers what was left behind and starts the run. `place` has
// it as soon as there is one, so that whoever fails afterwards can end it. Gives the ticket for the
// other ranks.
std::string start_run(const CoreOptions &options, const std::vector<std::string> &introductions,
                      const std::shared_ptr<Logger> &logger, Place &place);

// On the others.
void join_run(const std::string &ticket, const CoreOptions &options, const Ranks &ranks,
              const std::shared_ptr<Logger> &logger, Place &place);

}  // namespace det
