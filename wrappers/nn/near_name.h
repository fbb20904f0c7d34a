// The name that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace det::nn {

// "; did you mean 'softmax'?" for the nearest of `names` that is near enough, else "; there are
// 'a', 'b', ..." with all of them.
std::string suggestion(std::string_view wrong, const std::vector<std::string> &names);

}  // namespace det::nn
