#include "core/master/rest/home.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"
#include "core/config/master_location.h"

namespace det::master {

namespace fs = std::filesystem;

namespace {

fs::path base_directory() {
  if (const std::string home = environment_variable("DET_HOME"); !home.empty())
    return fs::absolute(home);
  return user_data_directory();
}

std::string as_file_name(const std::string &url) {
  std::string name;
  for (const char c : url)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
  return name;
}

}  // namespace

fs::path rest_home(const std::string &master_url) {
  const fs::path place = fs::path("masters") / as_file_name(master_url);
  try {
    const fs::path home = config::hidden_directory(base_directory()) / place;
    make_directories(home, 0700);
    return home;
  } catch (const Error &error) {
    // As in a container whose user has no home.
    if (error.code != Code::access && error.code != Code::not_found) throw;
  }
  const fs::path own = fs::temp_directory_path() / ("detcore-" + std::to_string(geteuid()));
  make_directories(own, 0700);
  // Others can make such a directory too, and would have their reports sent with our token.
  struct stat found {};
  if (lstat(own.c_str(), &found) != 0) OsFailure{errno}.raise("looking at '" + own.string() + "'");
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 077U) != 0)
    throw Error(Code::access, "keeping journals in '" + own.string() +
                                  "': it belongs to another user, or others can write to it; set "
                                  "DET_HOME to a directory that you own");
  const fs::path home = config::hidden_directory(own) / place;
  make_directories(home, 0700);
  return home;
}

}  // namespace det::master
