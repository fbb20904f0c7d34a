#include "core/journal/report_names.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/utf8.h"

namespace det::journal {

namespace {

constexpr size_t max_name_size = 255;

// Comparing each with each is quickest for the usual handful; sorting needs memory.
constexpr size_t few = 32;

[[noreturn]] void refuse(const std::string &problem) {
  throw Error(Code::invalid, "reporting metrics: " + problem);
}

[[noreturn]] void refuse_twice(std::string_view name) {
  refuse("the name '" + std::string(name) + "' occurs twice; give each value a different name");
}

void check_different(const NamedValue *values, size_t count, const uint8_t *sizes) {
  const auto name = [&](size_t i) { return std::string_view(values[i].name, sizes[i]); };
  if (count <= few) {
    for (size_t i = 1; i < count; ++i)
      for (size_t j = 0; j < i; ++j)
        if (name(i) == name(j)) [[unlikely]]
          refuse_twice(name(i));
    return;
  }
  std::vector<std::string_view> sorted(count);
  for (size_t i = 0; i < count; ++i) sorted[i] = name(i);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse_twice(*twice);
}

}  // namespace

void check_names(const NamedValue *values, size_t count, uint8_t *sizes) {
  for (size_t i = 0; i < count; ++i) {
    const char *name = values[i].name;
    if (name == nullptr) refuse("the name of value " + std::to_string(i) + " is NULL");
    const size_t size = strnlen(name, max_name_size + 1);
    if (size == 0 || size > max_name_size)
      refuse("the name of value " + std::to_string(i) +
             (size == 0 ? " is empty" : " is longer than 255 bytes") + "; use 1 to 255 bytes");
    if (!is_utf8({name, size})) refuse("the name of value " + std::to_string(i) + " is not UTF-8");
    sizes[i] = static_cast<uint8_t>(size);
  }
  check_different(values, count, sizes);
}

void check_group(std::string_view group) {
  if (!is_utf8(group)) refuse("the name of the group is not UTF-8");
  if (group.empty() || group.size() > max_name_size || group.find('.') != group.npos)
    throw Error(Code::invalid, "reporting metrics of group '" + std::string(group) +
                                   "': a group has 1 to 255 bytes and no '.'");
}

}  // namespace det::journal
