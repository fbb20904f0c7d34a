#include "core/config/user_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/process/process.h"

namespace det::config {

namespace fs = std::filesystem;

namespace {

struct Damaged {};

// As Python writes it with an indent of 4 and sorted keys, so that files can be compared.
std::string to_text(const Json &value) {
  return nlohmann::json(value).dump(4, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

fs::path user_config_directory() {
  if (const std::string path = environment_variable("DET_DEBUG_CONFIG_PATH"); !path.empty())
    return path;
  if (const std::string path = environment_variable("XDG_CONFIG_HOME"); !path.empty())
    return fs::path(path) / "determined";
  const fs::path home = home_directory();
  return home.empty() ? home : home / ".config/determined";
}

UserFile::UserFile(const std::string &name, Upgrade upgrade, std::string remedy)
    : upgrade_(std::move(upgrade)), remedy_(std::move(remedy)) {
  if (const fs::path directory = user_config_directory(); !directory.empty())
    path_ = directory / name;
}

std::optional<Json> UserFile::read() const {
  if (path_.empty()) return std::nullopt;
  try {
    return parse_file();  // without the lock: the directory may be read-only
  } catch (const Damaged &) {
  }
  const UnsharedFd held = lock();
  try {
    return parse_file();
  } catch (const Damaged &) {
    set_aside();
  }
}

void UserFile::change(const std::function<void(Json &)> &change) const {
  if (path_.empty())
    throw Error(Code::not_found,
                "looking for the user's config directory: HOME is not set; set XDG_CONFIG_HOME to "
                "a directory");
  make_directories(path_.parent_path(), 0700);
  const UnsharedFd held = lock();
  Json content = Json::object();
  try {
    if (std::optional<Json> present = parse_file()) content = std::move(*present);
    else if (!upgrade_(content)) content = Json::object();
  } catch (const Damaged &) {
    set_aside();
  }
  change(content);
  write_file_durably(path_, to_text(content), 0600);
}

UnsharedFd UserFile::lock() const { return wait_for_lock(path_.string() + ".lock"); }

std::optional<Json> UserFile::parse_file() const {
  std::string text;
  try {
    text = read_file(path_);
  } catch (const Error &error) {
    if (error.os_errno == ENOENT || error.os_errno == ENOTDIR) return std::nullopt;
    throw;
  }
  Json content;
  try {
    content = parse_json_object(text, path_.string());
  } catch (const Error &) {
    throw Damaged();
  }
  if (!upgrade_(content)) throw Damaged();
  return content;
}

void UserFile::set_aside() const {
  const fs::path aside = path_.string() + ".damaged";
  if (std::rename(path_.c_str(), aside.c_str()) != 0)
    OsFailure{errno}.raise("moving the damaged file '" + path_.string() + "' out of the way");
  throw Error(Code::corrupt, "reading '" + path_.string() + "': it is damaged, and was moved to '" +
                                 aside.string() + "'; " + remedy_);
}

}  // namespace det::config
