#include "core/engine/store_places.h"

#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/engine/copied_store.h"
#include "core/storage/storage_location.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char *below_host_path[] = {"storage_path", "tensorboard_path", "checkpoint_path"};

// Relative to the home; nothing for what does not lie in it.
std::optional<std::string> place_in(const fs::path &home, const fs::path &path) {
  const auto place = [](const fs::path &inner, const fs::path &root) {
    return is_below(inner, root) ? std::optional(inner.lexically_relative(root).string())
                                 : std::nullopt;
  };
  if (auto named = place(normal_path(path), normal_path(home))) return named;
  std::error_code failed;
  const fs::path real_home = fs::canonical(home, failed);
  if (failed) return std::nullopt;
  const fs::path real = fs::weakly_canonical(path, failed);
  return failed ? std::nullopt : place(normal_path(real), real_home);
}

Json recorded_text(const fs::path &home, const Json &storage) {
  const std::optional<fs::path> path = path_of_text(storage);
  if (!path) return storage;
  const fs::path base = fs::absolute(*path);
  const auto place = place_in(home, base);
  if (!place && path->is_absolute()) return storage;
  return {{"type", "shared_fs"}, {"host_path", place ? *place : base.string()}};
}

}  // namespace

const char *directory_key(const Json &storage) {
  if (!storage.is_object()) return nullptr;
  const Json type = storage.value("type", Json());
  const char *key = type == "shared_fs"   ? "host_path"
                    : type == "directory" ? "container_path"
                                          : nullptr;
  return key != nullptr && storage.contains(key) && storage.at(key).is_string() ? key : nullptr;
}

fs::path directory_of(const Json &storage) {
  const fs::path base = storage.at(directory_key(storage)).get<std::string>();
  for (const char *below : below_host_path)
    if (storage.contains(below) && storage.at(below).is_string()) try {
        return storage::shared_directory(base, storage.at(below).get<std::string>(), std::nullopt);
      } catch (const Error &) {
        return {};
      }
  return base;
}

std::optional<fs::path> path_of_text(const Json &storage) {
  if (!storage.is_string()) return std::nullopt;
  try {
    const storage::StorageLocation location =
        storage::parse_storage_uri(storage.get<std::string>());
    return location.kind == "shared_fs" ? std::optional<fs::path>(location.path) : std::nullopt;
  } catch (const Error &) {
    return std::nullopt;  // whoever opens it says what is wrong
  }
}

bool is_in_home(const Json &recorded) {
  const char *key = directory_key(recorded);
  return key != nullptr && !fs::path(recorded.at(key).get<std::string>()).is_absolute();
}

fs::path home_of(const Database &store) {
  return fs::absolute(store.path()).parent_path().parent_path();
}

Json recorded_storage(const fs::path &home, const Json &storage) {
  if (storage.is_string()) return recorded_text(home, storage);
  const char *key = directory_key(storage);
  if (key == nullptr) return storage;
  Json recorded = storage;
  const fs::path base = fs::absolute(storage.at(key).get<std::string>());
  recorded[key] = base.string();
  if (const auto place = place_in(home, base)) {
    recorded[key] = *place;
  } else if (const auto inner = place_in(home, directory_of(recorded))) {
    recorded[key] = *inner;
    for (const char *below : below_host_path) recorded.erase(below);
  }
  return recorded;
}

Json used_storage(const fs::path &home, Json recorded) {
  if (!is_in_home(recorded)) return recorded;
  Json &place = recorded[directory_key(recorded)];
  place = normal_path(home / place.get<std::string>()).string();
  return recorded;
}

Json recorded_config(const Database &store, Json config) {
  if (config.is_object() && config.contains("checkpoint_storage"))
    config["checkpoint_storage"] = recorded_storage(home_of(store), config["checkpoint_storage"]);
  return config;
}

Json used_config(const Database &store, std::string_view recorded) {
  Json config = parse_json_object(recorded, "the stored configuration");
  if (config.contains("checkpoint_storage"))
    config["checkpoint_storage"] =
        used_storage(home_of(store), std::move(config["checkpoint_storage"]));
  return config;
}

// Records of earlier releases, which named places as programs gave them.
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
