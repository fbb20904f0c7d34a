// Which master: decided once, from an option and the environment.
#pragma once

#include <filesystem>
#include <string>

namespace det::config {

struct MasterLocation {
  bool embedded = true;
  std::filesystem::path home;  // embedded: the directory given to the user
  std::string url;             // otherwise: canonical, see master_url.h

  // The store's own directory inside `home`. Hidden, so that it is never taken for a checkpoint.
  std::filesystem::path store_directory() const { return home / ".detcore"; }
};

// `option`, else DET_MASTER, else DET_HOME, else the user data directory. Throws Code::invalid,
// naming where the value came from.
MasterLocation locate_master(const std::string &option);

}  // namespace det::config
