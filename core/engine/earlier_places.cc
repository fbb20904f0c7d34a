// Records of earlier releases, which named places as programs gave them.
#include <map>
#include <set>
#include <vector>

#include "core/base/file.h"
#include "core/engine/copied_store.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

// Where the home was, from which the directory of a storage is what it is from the one of now.
std::optional<fs::path> earlier_home(Database &store, const fs::path &home,
                                     const fs::path &directory, const std::string &recorded) {
  std::vector<std::string> ids;
  Query rows = store.query(
      "SELECT uuid FROM checkpoints WHERE storage=? AND state='COMPLETED' ORDER BY id DESC"
      " LIMIT 100",
      recorded);
  while (rows.next()) ids.push_back(rows.text(0));
  for (fs::path root = directory; root.has_relative_path(); root = root.parent_path())
    for (const std::string &id : ids) {
      std::error_code failed;
      if (fs::is_directory(home / directory.lexically_relative(root) / id, failed)) return root;
    }
  return std::nullopt;
}

// With what a directory is relative to where a program was started, if that is known.
std::optional<Json> resolved_storage(const Json &storage, const Json &started) {
  const fs::path directory = started.value("directory", "");
  if (directory.empty()) return std::nullopt;
  if (const auto path = path_of_text(storage); path && path->is_relative())
    return Json{{"type", "shared_fs"}, {"host_path", normal_path(directory / *path).string()}};
  if (!is_in_home(storage)) return std::nullopt;
  Json resolved = storage;
  const auto place = resolved.at(directory_key(resolved)).get<std::string>();
  resolved[directory_key(resolved)] = normal_path(directory / place).string();
  return resolved;
}

// Earlier releases had such directories as the program gave them.
void resolve_by_runs(Database &store) {
  std::map<int64_t, std::string> storages, configs;
  {
    Query rows = store.query(
        "SELECT checkpoints.id, storage, process FROM checkpoints JOIN runs"
        " ON runs.trial_id=checkpoints.trial_id AND runs.run_id=checkpoints.run_id"
        " WHERE storage LIKE '%container_path%'");
    while (rows.next())
      if (const auto resolved = resolved_storage(parse_json(rows.view(1), "a stored storage"),
                                                 parse_json_object(rows.view(2), "a process")))
        storages[rows.integer(0)] = to_wire(*resolved);
  }
  {
    Query rows = store.query(
        "SELECT experiments.id, config, (SELECT process FROM runs JOIN trials ON trials.id=trial_id"
        "  WHERE experiment_id=experiments.id ORDER BY started LIMIT 1) AS earliest FROM "
        "experiments"
        " WHERE earliest IS NOT NULL");
    while (rows.next()) {
      Json config = parse_json_object(rows.view(1), "the stored configuration");
      const auto resolved = resolved_storage(config.value("checkpoint_storage", Json()),
                                             parse_json_object(rows.view(2), "a process"));
      if (!resolved) continue;
      config["checkpoint_storage"] = *resolved;
      configs[rows.integer(0)] = to_wire(config);
    }
  }
  for (const auto &[id, storage] : storages)
    store.run("UPDATE checkpoints SET storage=? WHERE id=?", storage, id);
  for (const auto &[id, config] : configs)
    store.run("UPDATE experiments SET config=? WHERE id=?", config, id);
}

}  // namespace

void relate_places(Database &store) {
  const fs::path home = home_of(store);
  resolve_by_runs(store);
  std::vector<std::string> storages;
  {
    Query rows = store.query("SELECT DISTINCT storage FROM checkpoints");
    while (rows.next()) storages.push_back(rows.text(0));
  }
  std::set<fs::path> homes{home};
  for (const std::string &text : storages) {
    const Json before = parse_json(text, "a stored storage");
    if (directory_key(before) == nullptr || is_in_home(before)) continue;
    Json related = recorded_storage(home, before);
    if (!is_in_home(related))
      if (const auto earlier = earlier_home(store, home, directory_of(before), text)) {
        homes.insert(*earlier);
        note_earlier_place(store, *earlier);
        related = recorded_storage(*earlier, before);
      }
    if (related != before)
      store.run("UPDATE checkpoints SET storage=? WHERE storage=?", to_wire(related), text);
  }
  std::map<int64_t, std::string> configs;
  {
    Query rows = store.query("SELECT id, config FROM experiments");
    while (rows.next()) {
      Json config = parse_json_object(rows.view(1), "the stored configuration");
      if (!config.contains("checkpoint_storage")) continue;
      Json &section = config["checkpoint_storage"];
      if (const auto path = path_of_text(section); path && path->is_relative()) continue;
      for (const fs::path &one : homes)
        if (!is_in_home(section)) section = recorded_storage(one, section);
      if (std::string text = to_wire(config); text != rows.view(1))
        configs[rows.integer(0)] = std::move(text);
    }
  }
  for (const auto &[id, config] : configs)
    store.run("UPDATE experiments SET config=? WHERE id=?", config, id);
}

}  // namespace det::engine
