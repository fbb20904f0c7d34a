#include "core/engine/records/page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "core/base/error.h"
#include "core/engine/states.h"

namespace det::engine {

namespace {

// Of stores and of masters.
constexpr std::array known_states{state::active,
                                  state::paused,
                                  state::completed,
                                  state::canceled,
                                  state::error,
                                  state::canceling,
                                  state::killing,
                                  state::completing,
                                  state::failing,
                                  state::deleting,
                                  state::delete_failed,
                                  std::string_view("DELETED"),
                                  std::string_view("QUEUED"),
                                  std::string_view("PULLING"),
                                  std::string_view("STARTING"),
                                  std::string_view("RUNNING")};

std::string known_state(const std::string &word) {
  std::string name = word;
  for (char &c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (std::ranges::find(known_states, name) != known_states.end()) return name;
  std::string known;
  for (const std::string_view one : known_states)
    known.append(known.empty() ? "" : ", ").append(one);
  throw Error(Code::invalid,
              "reading a list: there is no state \"" + word + "\"; there are " + known);
}

}  // namespace

std::vector<std::string> read_states(const std::string &text) {
  std::vector<std::string> states;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    states.push_back(known_state(text.substr(at, end - at)));
    at = end + 1;
  }
  return states;
}

void require_no_filter(const Page &page, const char *tried) {
  if (!page.filter.is_empty())
    throw Error(Code::invalid, std::string(tried) +
                                   ": page.state, name, tag, archived and running are for lists "
                                   "of experiments and trials only");
}

}  // namespace det::engine
