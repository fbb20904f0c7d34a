// What people note about an experiment: its name, notes and tags, and that it is out of the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"

namespace det::engine {

// Each where it changes.
struct ExperimentNotes {
  std::optional<std::string> name, notes;
  std::optional<std::vector<std::string>> tags;  // each once
  std::optional<bool> archived;
};

// From {"name", "notes", "tags", "archived"}, any of them. Throws Code::invalid.
ExperimentNotes read_notes(const Json &changes);

// Throws Code::state for an experiment that is not over.
void require_archivable(int64_t experiment_id, const std::string &state);

}  // namespace det::engine
