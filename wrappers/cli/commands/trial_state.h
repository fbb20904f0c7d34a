// How a trial or an experiment stands, and what works on it.
#pragma once

#include <string>

#include "wrappers/cli/library_client.h"

namespace det::cli {

bool is_terminal_state(const Json &state);  // COMPLETED, CANCELED, ERROR

// Whether a process works on a trial, as client.trial() gives it; on one run of it, if `run` is not
// 0. A master over HTTP is believed.
bool has_process(const Json &trial, int64_t run = 0);

// Whether nothing more comes of a trial before somebody starts it again.
bool is_at_rest(const Json &trial);

// Its state; of an entry that is ACTIVE without a process, DIED or NO PROCESS.
std::string state_text(const Json &entry);

}  // namespace det::cli
