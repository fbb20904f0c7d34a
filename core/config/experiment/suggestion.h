// What somebody may have meant who mistyped a name.
#pragma once

#include <string>
#include <vector>

namespace det::config {

// The one of `candidates` that is a slip or two away from `word`; empty where none is near.
std::string suggestion(const std::string &word, const std::vector<std::string> &candidates);

}  // namespace det::config
