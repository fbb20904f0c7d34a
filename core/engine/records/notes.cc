#include "core/engine/records/notes.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/engine/states.h"

namespace det::engine {

namespace {

constexpr const char *changing = "changing an experiment: ";

std::string text_of(const Json &value, const char *key) {
  if (!value.is_string())
    throw Error(Code::invalid,
                std::string(changing) + key + " is " + value.dump() + "; give a text");
  return value.get<std::string>();
}

std::vector<std::string> tags_of(const Json &value) {
  if (!value.is_array())
    throw Error(Code::invalid,
                std::string(changing) + "tags is " + value.dump() + "; give a list of texts");
  std::vector<std::string> tags;
  for (const Json &one : value) {
    std::string tag = text_of(one, "one of tags");
    if (tag.empty()) throw Error(Code::invalid, std::string(changing) + "a tag is empty");
    if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(std::move(tag));
  }
  return tags;
}

}  // namespace

ExperimentNotes read_notes(const Json &changes) {
  if (!changes.is_object())
    throw Error(Code::invalid, std::string(changing) + "the changes are no JSON object");
  ExperimentNotes notes;
  for (const auto &[key, value] : changes.items()) {
    if (key == "name") {
      notes.name = text_of(value, "name");
      if (notes.name->empty())
        throw Error(Code::invalid, std::string(changing) + "name is empty; give one");
    } else if (key == "notes") {
      notes.notes = text_of(value, "notes");
    } else if (key == "tags") {
      notes.tags = tags_of(value);
    } else if (key == "archived") {
      if (!value.is_boolean())
        throw Error(Code::invalid,
                    std::string(changing) + "archived is " + value.dump() + "; give true or false");
      notes.archived = value.get<bool>();
    } else {
      throw Error(Code::invalid, std::string(changing) + "there is no \"" + key +
                                     "\"; there are name, notes, tags and archived");
    }
  }
  return notes;
}

void require_archivable(int64_t experiment_id, const std::string &state) {
  if (is_terminal(state)) return;
  const std::string id = std::to_string(experiment_id);
  throw Error(Code::state, "archiving experiment " + id + ": it is " + state +
                               "; wait until it is over, or `det cancel -e " + id + "` ends it");
}

}  // namespace det::engine
