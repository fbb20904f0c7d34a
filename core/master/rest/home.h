// Where this machine keeps what belongs to runs of a master over HTTP.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace det::master {

// In DET_HOME, else in the user data directory, else (neither can be written) beside temporary
// files.
std::filesystem::path rest_home(const std::string &master_url);

}  // namespace det::master
