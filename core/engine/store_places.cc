#include "core/engine/store_places.h"

#include <sys/stat.h>

#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/engine/lifecycle.h"
#include "core/engine/store.h"
#include "core/storage/storage_location.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char *below_host_path[] = {"storage_path", "tensorboard_path", "checkpoint_path"};

// Under which a storage says its directory; null for buckets, and for what is no storage.
const char *directory_key(const Json &storage) {
  if (!storage.is_object()) return nullptr;
  const Json type = storage.value("type", Json());
  const char *key = type == "shared_fs"   ? "host_path"
                    : type == "directory" ? "container_path"
                                          : nullptr;
  return key != nullptr && storage.contains(key) && storage.at(key).is_string() ? key : nullptr;
}

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

// What a storage of the file system stands for; empty where it does not say so properly.
fs::path directory_of(const Json &storage, const char *key) {
  const fs::path base = storage.at(key).get<std::string>();
  for (const char *below : below_host_path)
    if (storage.contains(below) && storage.at(below).is_string()) try {
        return storage::shared_directory(base, storage.at(below).get<std::string>(), std::nullopt);
      } catch (const Error &) {
        return {};
      }
  return base;
}

bool is_in_home(const Json &recorded) {
  const char *key = directory_key(recorded);
  return key != nullptr && !fs::path(recorded.at(key).get<std::string>()).is_absolute();
}

Json recorded_text(const fs::path &home, const Json &storage) {
  try {
    const storage::StorageLocation location =
        storage::parse_storage_uri(storage.get<std::string>());
    if (location.kind != "shared_fs") return storage;
    const auto place = place_in(home, fs::absolute(location.path));
    return place ? Json{{"type", "shared_fs"}, {"host_path", *place}} : storage;
  } catch (const Error &) {
    return storage;  // whoever opens it says what is wrong
  }
}

std::string noted(Database &store, const char *key) {
  Query row = store.query("SELECT value FROM meta WHERE key=?", key);
  return row.next() ? row.text(0) : std::string();
}

void note(Database &store, const char *key, const std::string &value) {
  store.run(
      "INSERT INTO meta (key, value) VALUES (?, ?)"
      " ON CONFLICT (key) DO UPDATE SET value=excluded.value",
      key, value);
}

constexpr const char *home_note = "home", *copy_note = "copied";

fs::path real_home(const Database &store) {
  std::error_code failed;
  const fs::path home = fs::canonical(home_of(store), failed);
  return failed ? fs::path() : home;
}

// Whether another store with the id of this one is where this one was.
bool is_copy_of(Database &store, const fs::path &home) {
  struct stat own {
  }, other{};
  const fs::path path = store_path(home / store.path().parent_path().filename());
  if (stat(store.path().c_str(), &own) != 0 || stat(path.c_str(), &other) != 0) return false;
  if (own.st_dev == other.st_dev && own.st_ino == other.st_ino) return false;
  try {
    return read_cluster_id(path.parent_path()) == noted(store, "cluster_id");
  } catch (const Error &) {
    return true;  // it cannot be told now, and files that go are gone
  }
}

// The processes of runs that have not ended work on the other store.
void leave_runs_to_other(Database &store) {
  std::vector<std::pair<int64_t, int64_t>> runs;
  {
    Query open = store.query("SELECT trial_id, run_id FROM runs WHERE exit IS NULL");
    while (open.next()) runs.emplace_back(open.integer(0), open.integer(1));
  }
  for (const auto &[trial_id, run_id] : runs) {
    record_run_end(store, trial_id, run_id, RunExit::died);
    store.run("UPDATE runs SET leader=NULL WHERE trial_id=? AND run_id=?", trial_id, run_id);
  }
}

void note_copy(Database &store) {
  if (!noted(store, copy_note).empty()) return;
  Transaction transaction(store);
  if (!noted(store, copy_note).empty()) return;
  leave_runs_to_other(store);
  Query last = store.query(
      "SELECT (SELECT COALESCE(MAX(id), 0) FROM experiments),"
      " (SELECT COALESCE(MAX(id), 0) FROM checkpoints)");
  last.next();
  note(store, copy_note,
       to_wire({{"last_experiment", last.integer(0)}, {"last_checkpoint", last.integer(1)}}));
  transaction.commit();
}

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
  if (!is_in_home(storage) || directory.empty()) return std::nullopt;
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
        " WHERE config LIKE '%container_path%' AND earliest IS NOT NULL");
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

[[noreturn]] void refuse_shared_files(const std::string &tried, const CopiedStore &copied) {
  throw Error(Code::state,
              "deleting " + tried + ": this store is a copy of the one in '" +
                  copied.home.string() +
                  "', and its files are outside of the store, so that they belong to that one too; "
                  "delete it there. If this copy is to take its place, move that one away first");
}

}  // namespace

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
  } else if (const auto inner = place_in(home, directory_of(recorded, key))) {
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
    const char *key = directory_key(before);
    if (key == nullptr || is_in_home(before)) continue;
    Json related = recorded_storage(home, before);
    if (!is_in_home(related))
      if (const auto earlier = earlier_home(store, home, directory_of(before, key), text)) {
        homes.insert(*earlier);
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
      for (const fs::path &one : homes)
        if (!is_in_home(section)) section = recorded_storage(one, section);
      if (std::string text = to_wire(config); text != rows.view(1))
        configs[rows.integer(0)] = std::move(text);
    }
  }
  for (const auto &[id, config] : configs)
    store.run("UPDATE experiments SET config=? WHERE id=?", config, id);
}

void note_place(Database &store) {
  const fs::path home = real_home(store);
  const fs::path before = noted(store, home_note);
  if (home.empty() || home == before) return;
  if (!before.empty()) {
    if (is_copy_of(store, before)) return note_copy(store);
    std::error_code failed;
    if (fs::equivalent(store.path(), store_path(before / store.path().parent_path().filename()),
                       failed))
      return;  // another way to the same
  }
  Transaction transaction(store, Durability::relaxed);
  note(store, home_note, home.string());
  store.run("DELETE FROM meta WHERE key=?", copy_note);
  transaction.commit();
}

bool CopiedStore::shares(int64_t checkpoint, const Json &recorded_storage) const {
  return checkpoint <= last_checkpoint && is_outside(recorded_storage);
}

// A copy has the links of the other one, and with them its files.
bool CopiedStore::is_outside(const Json &recorded_storage) const {
  if (own_home.empty() || !is_in_home(recorded_storage)) return true;
  const Json used = used_storage(own_home, recorded_storage);
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(directory_of(used, directory_key(used)), failed);
  return failed || !is_below(normal_path(real), own_home);
}

std::optional<CopiedStore> copied_store(Database &store) {
  const std::string copy = noted(store, copy_note);
  const fs::path home = real_home(store);
  const fs::path before = noted(store, home_note);
  if (copy.empty() || before == home || !is_copy_of(store, before)) return std::nullopt;
  const Json last = parse_json_object(copy, "what a copied store has noted");
  return CopiedStore{before, home, last.at("last_experiment"), last.at("last_checkpoint")};
}

void require_own_files(Database &store, int64_t experiment_id) {
  const auto copied = copied_store(store);
  if (!copied || experiment_id > copied->last_experiment) return;
  const std::string tried = "experiment " + std::to_string(experiment_id);
  Query files = store.query(
      "SELECT checkpoints.id, storage FROM trials JOIN checkpoints ON trial_id=trials.id"
      " WHERE experiment_id=? AND checkpoints.state<>'DELETED'",
      experiment_id);
  while (files.next())
    if (copied->shares(files.integer(0), parse_json(files.view(1), "a stored storage")))
      refuse_shared_files(tried, *copied);
  Query config = store.query("SELECT config FROM experiments WHERE id=?", experiment_id);
  if (!config.next()) return;
  const Json section = parse_json_object(config.view(0), "the stored configuration")
                           .value("checkpoint_storage", Json());
  if (storage::says_where(section) && copied->is_outside(section))
    refuse_shared_files(tried, *copied);
}

void require_own_files(Database &store, const std::string &checkpoint) {
  const auto copied = copied_store(store);
  if (!copied) return;
  Query row = store.query("SELECT id, storage FROM checkpoints WHERE uuid=?", checkpoint);
  if (row.next() && copied->shares(row.integer(0), parse_json(row.view(1), "a stored storage")))
    refuse_shared_files("checkpoint " + checkpoint, *copied);
}

}  // namespace det::engine
