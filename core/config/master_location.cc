#include "core/config/master_location.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/environment.h"
#include "core/base/text/lower_case.h"
#include "core/config/master_url.h"

namespace det::config {

namespace fs = std::filesystem;

namespace {

bool is_port(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// HOST:PORT; an IPv6 address in brackets.
bool is_host_and_port(const std::string &text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  return colon != text.npos && is_port(text.substr(colon + 1)) && text.find('/') == text.npos;
}

MasterLocation parse(const std::string &text, const std::string &origin) {
  if (is_host_and_port(text)) return {false, {}, canonical_master_url(text, origin)};
  const size_t colon = text.find(':');
  if (colon == text.npos) return {true, fs::absolute(text), {}};
  const std::string scheme = lower_case(text.substr(0, colon));
  const std::string rest = text.substr(colon + 1);
  const bool has_authority = rest.starts_with("//");
  if (has_authority && (scheme == "http" || scheme == "https"))
    return {false, {}, canonical_master_url(text, origin)};
  if (scheme == "file" && rest.starts_with("///")) return {true, rest.substr(2), {}};
  if (scheme == "file" && !rest.empty() && !has_authority) return {true, fs::absolute(rest), {}};
  if (has_authority || scheme == "file")
    throw Error(Code::invalid, "reading " + origin + " '" + text +
                                   "': give http://HOST:PORT, https://HOST:PORT, a directory, or "
                                   "file:///DIRECTORY");
  return {true, fs::absolute(text), {}};
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

}  // namespace det::config
