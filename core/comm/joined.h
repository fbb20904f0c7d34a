// The job of several ranks, over any transport.
#pragma once

#include <chrono>
#include <memory>

#include "core/comm/communicator.h"
#include "core/comm/transport.h"

namespace det::comm {

// How long a silent rank is waited for where nobody says otherwise: DET_DISTRIBUTED_TIMEOUT in
// seconds, else ten minutes.
std::chrono::milliseconds default_join_timeout();

// Collective over all ranks. Compares what the ranks say of themselves and throws Code::invalid on
// all of them, naming two that contradict each other.
std::unique_ptr<Communicator> make_joined_communicator(const Ranks &ranks,
                                                       std::unique_ptr<Transport> transport,
                                                       std::chrono::milliseconds timeout);

}  // namespace det::comm
