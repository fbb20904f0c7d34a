// The pages of the documentation that is installed beside this program.
#pragma once

#include <string>
#include <vector>

namespace det::cli {

std::vector<std::string> documentation_pages();  // the names that `det docs` takes

}  // namespace det::cli
