// The commands of Determined's `det`, for people who have its names in their fingers.
#pragma once

#include <string>
#include <vector>

namespace det::cli {

// Throws Failure (usage), which names the command to use, if the words are a command of Determined
// that does not exist here. `det trial kill 7` is one, too: it must not run the program kill.
void refuse_determined_command(const std::vector<std::string> &words);

}  // namespace det::cli
