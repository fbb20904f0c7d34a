// Records by what people type for them.
#include "core/engine/find.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/base/error.h"
#include "core/base/lower_case.h"
#include "core/engine/engine.h"

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

Json Engine::find_checkpoint(const std::string &text) {
  {
    const std::lock_guard guard(mutex_);
    if (!records().query("SELECT 1 FROM checkpoints WHERE uuid=?", text).next()) {
      const std::string prefix = checkpoint_prefix(text);
      std::vector<FoundCheckpoint> found;
      Query rows = records().query(
          "SELECT uuid, trial_id, steps FROM checkpoints WHERE uuid>=? ORDER BY uuid LIMIT ?",
          prefix, static_cast<int64_t>(most_candidates + 1));
      while (rows.next() && rows.view(0).starts_with(prefix))
        found.push_back({rows.text(0), rows.integer(1), rows.integer(2)});
      return entry_of_checkpoint(only_checkpoint(text, found, records().path().string()));
    }
  }
  return get_checkpoint(text);
}

int64_t Engine::find_trial(const std::string &text) {
  const std::lock_guard guard(mutex_);
  const TrialText trial = read_trial_text(text);
  if (trial.id && records().query("SELECT 1 FROM trials WHERE id=?", *trial.id).next())
    return *trial.id;
  Query row = records().query("SELECT id FROM trials WHERE external_id=?", trial.external_id);
  if (row.next()) return row.integer(0);
  throw Error(Code::not_found, "looking for a trial: none has the " +
                                   std::string(trial.id ? "id or " : "") + "external id \"" +
                                   trial.external_id + "\" in '" + records().path().string() +
                                   "'; `det ls` shows the ones there are");
}

}  // namespace det::engine
