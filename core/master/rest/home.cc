#include "core/master/rest/home.h"

#include <unistd.h>

#include <cctype>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace det {

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
  const fs::path place = fs::path(".detcore") / "masters" / as_file_name(master_url);
  try {
    const fs::path home = base_directory() / place;
    make_directories(home, 0700);
    return home;
  } catch (const Error &error) {
    // As in a container whose user has no home.
    if (error.code != Code::access) throw;
  }
  const fs::path home = fs::temp_directory_path() / ("detcore-" + std::to_string(getuid())) / place;
  make_directories(home, 0700);
  return home;
}

}  // namespace det
