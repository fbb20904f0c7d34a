// What the exit of a run says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/states.h"
#include "core/launcher/launcher.h"
#include "core/launcher/verdict.h"

namespace det::launcher {

// For the record of a run that said nothing itself. Nothing where nobody knows.
std::optional<engine::RunExit> exit_for_record(const LaunchedExit &exit, bool killed);

// `said` is the exit on record. What its trial is to be judged by besides is left out.
RunFacts facts_of(const LaunchedExit &exit, bool killed, const std::optional<std::string> &said);

// For people; nothing where it left in good order, was killed, or nobody knows. `said` as above.
std::optional<std::string> complaint_about(const LaunchedExit &exit, bool killed,
                                           const std::optional<std::string> &said);

// Whether a shell that was given an entrypoint may not have found what that names, or no program.
bool may_be_unstartable(const LaunchedExit &exit, const std::vector<std::string> &command);

}  // namespace det::launcher
