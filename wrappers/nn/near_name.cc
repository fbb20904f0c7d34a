#include "wrappers/nn/near_name.h"

#include <algorithm>
#include <numeric>

namespace det::nn {

namespace {

// Letters to insert, to leave out or to change.
size_t distance(std::string_view one, std::string_view other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t changed = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view wrong, const std::vector<std::string> &names) {
  // What is no longer than a few words is cheap to compare.
  const std::string_view compared = wrong.substr(0, 64);
  const std::string *nearest = nullptr;
  size_t least = 0;
  for (const std::string &name : names) {
    const size_t letters = distance(compared, name);
    if (nearest == nullptr || letters < least) {
      nearest = &name;
      least = letters;
    }
  }
  if (nearest != nullptr && least <= std::max<size_t>(2, nearest->size() / 3))
    return "; did you mean '" + *nearest + "'?";
  std::string text = "; there are ";
  for (const std::string &name : names)
    text += (&name == &names.front() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace det::nn
