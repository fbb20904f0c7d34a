// What people note about an experiment.
#include <algorithm>

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/engine.h"
#include "core/engine/notes.h"
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

Json Engine::update_experiment(int64_t experiment_id, const Json &changes) {
  const ExperimentNotes notes = read_notes(changes);
  const std::lock_guard guard(mutex_);
  {
    Change change(store_);
    const Json before = entry_of_experiment(experiment_id, "changing an experiment");
    if (notes.archived == true && before.at("archived") == false)
      require_archivable(experiment_id, before.at("state").get<std::string>());
    change.records().run(
        "UPDATE experiments SET name=COALESCE(?1, name), notes=COALESCE(?2, notes),"
        " tags=COALESCE(?3, tags), archived=COALESCE(?4, archived) WHERE id=?5",
        notes.name, notes.notes,
        notes.tags ? std::optional(to_wire(Json(*notes.tags))) : std::nullopt, notes.archived,
        experiment_id);
    change.commit();
  }
  return entry_of_experiment(experiment_id, "changing an experiment");
}

// Before this it may have been found to be deleted, and after it no more.
Json Engine::pin_checkpoint(const std::string &id, bool pinned) {
  const std::lock_guard guard(mutex_);
  {
    Change change(store_);
    const Json before = entry_of_checkpoint(id);
    if (pinned && before.at("state") != "COMPLETED")
      throw Error(Code::state, "pinning checkpoint " + id + ": it is " +
                                   before.at("state").get<std::string>() +
                                   ", and its files are gone or about to be");
    change.records().run("UPDATE checkpoints SET registered=? WHERE uuid=?", pinned, id);
    change.commit();
  }
  return entry_of_checkpoint(id);
}

}  // namespace det::engine
