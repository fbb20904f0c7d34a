// The part of a list that is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::engine {

// Same numbers as page.archived of det/client.h.
enum class Archived { without, only, with };

// Which entries of a list of experiments or trials. Trials have the name and the tags of their
// experiment, and are archived with it; those of one experiment are listed whether it is or not.
struct Filter {
  std::vector<std::string> states = {};  // one of these; empty: any
  std::string name = {};                 // a glob; empty: any
  std::string tag = {};                  // empty: any
  Archived archived = Archived::without;
  bool running = false;  // only those with a process that lives

  bool is_empty() const {
    return states.empty() && name.empty() && tag.empty() && archived == Archived::without &&
           !running;
  }
};

// From names with commas between them, in any case. Throws Code::invalid for one that is no state.
std::vector<std::string> read_states(const std::string &text);

struct Page {
  int64_t after = 0;
  int64_t limit = 1000;
  bool descending = false;
  bool by_metric = false;  // trials of one experiment: the best first, descending the worst
  Filter filter = {};
};

// Throws Code::invalid where `page` has a filter, which only lists of experiments and trials know.
void require_no_filter(const Page &page, const char *tried);

}  // namespace det::engine
