#include "core/config/location.h"

#include <cctype>

#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace det {

namespace fs = std::filesystem;

namespace {

MasterLocation parse(const std::string &text, const std::string &origin) {
  const size_t colon = text.find("://");
  std::string scheme = text.substr(0, colon == text.npos ? 0 : colon);
  for (char &c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (scheme == "http" || scheme == "https") return {false, {}, text};
  if (scheme.empty() && text.rfind("file:", 0) == 0) return parse(text.substr(5), origin);
  if (scheme.empty()) return {true, fs::absolute(text), {}};
  if (scheme == "file" && text[colon + 3] == '/') return {true, text.substr(colon + 3), {}};
  throw Error(Code::invalid, "reading " + origin + " '" + text +
                                 "': give http://HOST:PORT, https://HOST:PORT, a directory, or "
                                 "file:///DIRECTORY");
}

}  // namespace

MasterLocation locate_master(const std::string &option) {
  if (!option.empty()) return parse(option, "master");
  if (const std::string master = environment_variable("DET_MASTER"); !master.empty())
    return parse(master, "the variable DET_MASTER");
  if (const std::string home = environment_variable("DET_HOME"); !home.empty())
    return {true, fs::absolute(home), {}};
  return {true, user_data_directory(), {}};
}

}  // namespace det
