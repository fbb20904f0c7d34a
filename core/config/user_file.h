// A small JSON file in the user's config directory, shared with every process of the user.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/process/unshared_fd.h"

namespace det::config {

// $DET_DEBUG_CONFIG_PATH, else $XDG_CONFIG_HOME/determined, else ~/.config/determined. Empty
// where there is no home either.
std::filesystem::path user_config_directory();

// Changes are made under a lock that the original's command line takes as well, and replace the
// file as a whole: nobody's entry is lost, and readers see the old or the new. Holds secrets, so
// nobody else may read it.
class UserFile {
 public:
  // Brings an object of any older form to the present one; false when it is damaged.
  using Upgrade = std::function<bool(Json &)>;

  // `remedy` is what helps when the file is damaged: "log in again".
  UserFile(const std::string &name, Upgrade upgrade, std::string remedy);

  const std::filesystem::path &path() const { return path_; }  // empty: there is no directory

  // None where there is no file. One that is damaged is moved aside: throws Code::corrupt, saying
  // where to.
  std::optional<Json> read() const;

  // As read(), then writes what `change` makes of it, or of an upgraded empty object. Throws
  // Code::not_found where there is no directory.
  void change(const std::function<void(Json &)> &change) const;

 private:
  UnsharedFd lock() const;
  std::optional<Json> parse_file() const;
  [[noreturn]] void set_aside() const;

  std::filesystem::path path_;
  Upgrade upgrade_;
  std::string remedy_;
};

}  // namespace det::config
