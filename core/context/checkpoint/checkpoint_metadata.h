// What a program says about its checkpoint, kept beside the files as metadata.json.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace det::context {

// Throws Code::invalid unless "steps_completed" is an integer from 0 to Master::most_steps().
void check_metadata(const Json &metadata, int64_t most_steps);

// What write_metadata() wrote; throws Code::not_found, or Code::invalid for what is no object.
Json read_metadata(const std::filesystem::path &directory);

void write_metadata(const std::filesystem::path &directory, const Json &metadata);

// What several ranks say, objects merged key by key. Of a key on which they differ the value of the
// lowest rank stays.
struct MergedMetadata {
  Json merged = Json::object();
  // "/outer/inner" → the ranks that gave the key until the first difference showed, and those that
  // differed from the first value after that.
  std::map<std::string, std::vector<int>> conflicts;
};

MergedMetadata merge_metadata(const std::vector<Json> &of_ranks);

// One line for each name, with its ranks.
std::string list_conflicts(const std::map<std::string, std::vector<int>> &conflicts);

}  // namespace det::context
