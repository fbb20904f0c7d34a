// What people type for a checkpoint or a trial.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::engine {

inline constexpr size_t shortest_prefix = 4;
inline constexpr size_t most_candidates = 10;  // that an error names

struct FoundCheckpoint {
  std::string uuid;
  int64_t trial_id = 0;
  int64_t steps = 0;
};

// The beginning of an id, as ids are written. Throws Code::invalid for one that is too short.
std::string checkpoint_prefix(const std::string &text);

// The id, where one was found. Throws Code::not_found for none, Code::conflict for several.
std::string only_checkpoint(const std::string &text, const std::vector<FoundCheckpoint> &found,
                            const std::string &where);

// "7" is an id, and an external id where no trial has it; "external:7" is an external id.
struct TrialText {
  std::optional<int64_t> id;
  std::string external_id;
};
// Throws Code::invalid for empty text.
TrialText read_trial_text(const std::string &text);

}  // namespace det::engine
