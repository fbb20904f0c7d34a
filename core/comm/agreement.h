// Steps that succeed on every rank or fail on every rank, so that an error on one of them leaves no
// other waiting in the next collective.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace det::comm {

using Work = std::function<std::string()>;

// What `work` gave or threw, as a message, and that again on another rank: `whose` names the one in
// the error.
std::string outcome_of(const Work &work);
std::string value_in(const std::string &outcome, const std::string &whose);

// Collective, as a part of `call`. Runs `work` on every rank and gives all of them the values, in
// rank order. When it throws anywhere it throws everywhere: here what it threw here, else what the
// lowest rank threw, with that rank named and the same code.
std::vector<std::string> all_agree(Communicator &communicator, const Call &call, const Work &work);

// Collective. Runs `work` on the chief alone and gives every rank its value, or its error.
std::string chief_decides(Communicator &communicator, const Call &call, const Work &work);

// The same among the ranks of one machine; the values are in local rank order.
std::vector<std::string> all_agree_local(Communicator &communicator, const Call &call,
                                         const Work &work);
std::string local_chief_decides(Communicator &communicator, const Call &call, const Work &work);

}  // namespace det::comm
