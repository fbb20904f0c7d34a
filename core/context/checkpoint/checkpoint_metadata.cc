#include "core/context/checkpoint/checkpoint_metadata.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/storage/tree.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

bool is_nan(const Json &value) {
  return value.is_number_float() && std::isnan(value.get<double>());
}

// Numbers by value, objects in any order of their keys.
bool same(const Json &a, const Json &b) {
  if (a.is_object() && b.is_object()) {
    for (const auto &[key, value] : a.items())
      if (!b.contains(key) || !same(value, b.at(key))) return false;
    return a.size() == b.size();
  }
  if (a.is_array() && b.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  return a == b || (is_nan(a) && is_nan(b));
}

class Merge {
 public:
  void add(int rank, Json &into, const Json &incoming, const std::string &prefix) {
    for (const auto &[key, value] : incoming.items()) {
      const std::string path = prefix + "/" + key;
      std::vector<int> &givers = givers_[path];
      givers.push_back(rank);
      const bool known = into.contains(key);
      if (!known) into[key] = value.is_object() ? Json::object() : value;
      Json &have = into[key];
      if (have.is_object() && value.is_object()) add(rank, have, value, path);
      else if (known && !same(have, value) && !conflicts.try_emplace(path, givers).second)
        conflicts[path].push_back(rank);
    }
  }

  std::map<std::string, std::vector<int>> conflicts;

 private:
  std::map<std::string, std::vector<int>> givers_;
};

}  // namespace

// One checkpoint whose steps are no integer breaks the reading of others on some masters.
void check_metadata(const Json &metadata, int64_t most_steps) {
  const auto steps = metadata.find("steps_completed");
  if (steps == metadata.end())
    throw Error(Code::invalid,
                "saving a checkpoint: its metadata lacks \"steps_completed\"; add it, like "
                "{\"steps_completed\": 100}");
  if (!steps->is_number_integer() || (!steps->is_number_unsigned() && steps->get<int64_t>() < 0))
    throw Error(Code::invalid,
                "saving a checkpoint: \"steps_completed\" must be an integer, 0 or more, not " +
                    to_wire(*steps));
  if (steps->get<uint64_t>() > static_cast<uint64_t>(most_steps))
    throw Error(Code::invalid, "saving a checkpoint: \"steps_completed\" is " + to_wire(*steps) +
                                   "; this master takes at most " + std::to_string(most_steps));
}

Json read_metadata(const fs::path &directory) {
  const fs::path path = directory / storage::metadata_name;
  return parse_json_object(read_file(path), "'" + path.string() + "'");
}

void write_metadata(const fs::path &directory, const Json &metadata) {
  const fs::path path = directory / storage::metadata_name;
  const Fd file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(file.get(), to_metadata_text(metadata), path.string());
}

MergedMetadata merge_metadata(const std::vector<Json> &of_ranks) {
  MergedMetadata result;
  Merge merge;
  for (int rank = 0; const Json &metadata : of_ranks)
    merge.add(rank++, result.merged, metadata, {});
  result.conflicts = std::move(merge.conflicts);
  return result;
}

std::string list_conflicts(const std::map<std::string, std::vector<int>> &conflicts) {
  std::string text;
  for (const auto &[name, ranks] : conflicts) {
    text += "\n  " + name + ": ranks";
    for (const int rank : ranks)
      text += (rank == ranks.front() ? " " : ", ") + std::to_string(rank);
  }
  return text;
}

}  // namespace det::context
