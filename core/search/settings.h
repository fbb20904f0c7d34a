// The `searcher` section of an experiment configuration, read for whoever makes the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/search/search.h"

namespace det::search {

struct SearchSettings {
  enum class Method { single, random, grid, asha, adaptive_asha, custom };
  enum class Mode { aggressive, standard, conservative };

  Method method = Method::single;
  std::string metric;
  bool smaller_is_better = true;
  uint64_t max_length = 0;  // where metrics steer the search: in units of `time_metric`
  std::string time_metric;
  uint64_t max_trials = 1;
  uint64_t max_concurrent_trials = 16;  // 0: the method chooses
  double divisor = 4;
  uint64_t num_rungs = 1;
  bool stop_once = false;
  Mode mode = Mode::standard;
  uint64_t max_rungs = 5;
  std::vector<uint64_t> bracket_rungs;

  // Smaller is better for the metric times this.
  double sign() const { return smaller_is_better ? 1 : -1; }
};

// Throws Code::invalid naming the field.
SearchSettings read_search_settings(const Json &searcher, SearchRules rules);

// Throws Code::invalid when a search of so many trials would make more at once than fit anywhere.
void check_at_once(const SearchSettings &settings, uint64_t trials);

}  // namespace det::search
