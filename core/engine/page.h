// The part of a list that is asked for.
#pragma once

#include <cstdint>

namespace det::engine {

struct Page {
  int64_t after = 0;
  int64_t limit = 1000;
  bool descending = false;
  bool by_metric = false;  // trials of one experiment: the best first, descending the worst
};

}  // namespace det::engine
