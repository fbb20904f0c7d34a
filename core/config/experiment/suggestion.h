// What somebody may have meant who mistyped a name, or who wrote for another release.
#pragma once

#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::config {

// The one of `candidates` that is a slip or two away from `word`; empty where none is near.
std::string suggestion(const std::string &word, const std::vector<std::string> &candidates);

// What to write in place of `key` with `value`, in the object `path`, where only releases before
// 0.13 had it; else empty.
std::string hint_for_old_key(const std::string &path, const std::string &key, const Json &value);

}  // namespace det::config
