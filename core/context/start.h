// How the ranks of a job come to one run. Each says who it is; the chief finds out which master it
// is, all reach it, the chief starts the run and hands out a ticket, and the others join with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/comm/communicator.h"
#include "core/context/options.h"
#include "core/context/place.h"

namespace det::context {

// What a rank says of itself before anything is started.
std::string introduction(const CoreOptions &options, const comm::Ranks &ranks);

// Throws Code::invalid, on every rank the same, when options differ that must not.
void check_agreement(const std::vector<std::string> &introductions);

// On the chief. Gives the choice for all ranks.
std::string choose_master(const CoreOptions &options, Place &place);

// On every rank: a session with a master over HTTP. The containers of a cluster meet here.
void reach_master(const std::string &choice, const comm::Ranks &ranks,
                  const std::shared_ptr<Logger> &logger, Place &place);

// On the chief: recovers what was left behind and starts the run. `place` has it as soon as there
// is one, so that whoever fails afterwards can end it. Gives the ticket for the other ranks.
std::string start_run(const std::string &choice, const CoreOptions &options,
                      const std::vector<std::string> &introductions, const comm::Ranks &ranks,
                      const std::shared_ptr<Logger> &logger, Place &place);

// On the others.
void join_run(const std::string &choice, const std::string &ticket, const CoreOptions &options,
              const comm::Ranks &ranks, const std::shared_ptr<Logger> &logger, Place &place);

}  // namespace det::context
