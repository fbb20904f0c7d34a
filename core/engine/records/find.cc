#include "core/engine/records/find.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/error.h"
#include "core/base/text/lower_case.h"

namespace det::engine {

std::string checkpoint_prefix(const std::string &text) {
  if (text.size() < shortest_prefix)
    throw Error(Code::invalid, "looking for checkpoint \"" + text + "\": give at least " +
                                   std::to_string(shortest_prefix) + " characters of its id");
  const auto is_of_uuid = [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; };
  return std::ranges::all_of(text, is_of_uuid) ? lower_case(text) : text;
}

std::string only_checkpoint(const std::string &text, const std::vector<FoundCheckpoint> &found,
                            const std::string &where) {
  const std::string tried = "looking for checkpoint \"" + text + "\": ";
  if (found.empty())
    throw Error(Code::not_found, tried + "none has an id that begins so in '" + where +
                                     "'; `det checkpoints` shows the ones there are");
  if (found.size() == 1) return found.front().uuid;
  std::string candidates;
  for (size_t i = 0; i < std::min(found.size(), most_candidates); ++i)
    candidates += (i == 0 ? "" : ", ") + found[i].uuid + " (trial " +
                  std::to_string(found[i].trial_id) + ", step " + std::to_string(found[i].steps) +
                  ")";
  if (found.size() > most_candidates) candidates += ", and more";
  throw Error(Code::conflict,
              tried + "several have an id that begins so: " + candidates + "; give more of it");
}

TrialText read_trial_text(const std::string &text) {
  constexpr std::string_view external = "external:";
  const bool forced = text.starts_with(external);
  TrialText trial{std::nullopt, forced ? text.substr(external.size()) : text};
  if (trial.external_id.empty())
    throw Error(Code::invalid,
                "looking for a trial: the text is empty; give its id or its external id");
  int64_t id = 0;
  const char *end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, id);
  if (!forced && failure == std::errc() && stop == end) trial.id = id;
  return trial;
}

}  // namespace det::engine
