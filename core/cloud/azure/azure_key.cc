#include "core/cloud/azure/azure_key.h"

#include <algorithm>
#include <string_view>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/cloud/xml.h"

namespace det::cloud {

namespace {

constexpr size_t longest = 1024;
constexpr int most_segments = 254;

const char *fault_of(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > longest) return "it has more than 1,024 bytes";
  if (!is_utf8(name)) return "it is not UTF-8";
  if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }) ||
      !fits_xml(name))
    return "it has control characters";
  if (name.find('\\') != name.npos) return "Azure makes '\\' a '/'";
  if (std::ranges::count(name, '/') >= most_segments) return "it has more than 254 segments";
  for (std::string_view rest = name; !rest.empty();) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (segment.ends_with('.')) return "Azure drops dots at the end of a segment";
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
  }
  return nullptr;
}

}  // namespace

void check_azure_key(const std::string &name, const std::string &shown) {
  if (const char *fault = fault_of(name))
    throw Error(Code::invalid,
                "naming a blob '" + shown + "': " + fault + "; give the file another name");
}

}  // namespace det::cloud
