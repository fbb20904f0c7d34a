// Which master: decided once, from an option and the environment.
#pragma once

#include <filesystem>
#include <string>

namespace det::config {

// What detcore keeps for itself inside a directory that is given to the user. Hidden, so that it is
// never taken for a checkpoint.
inline std::filesystem::path hidden_directory(const std::filesystem::path &home) {
  return home / ".detcore";
}

struct MasterLocation {
  bool embedded = true;
  std::filesystem::path home;  // embedded: the directory given to the user
  std::string url;             // otherwise: canonical, see master_url.h

  std::filesystem::path store_directory() const { return hidden_directory(home); }
};

// `option`, else DET_MASTER, else DET_HOME, else the user data directory. Throws Code::invalid,
// naming where the value came from.
MasterLocation locate_master(const std::string &option);

}  // namespace det::config
