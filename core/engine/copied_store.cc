#include "core/engine/copied_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/engine/experiment.h"
#include "core/engine/runs/lifecycle.h"
#include "core/engine/store.h"
#include "core/engine/store_places.h"
#include "core/journal/run_directory.h"
#include "core/storage/storage_location.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

constexpr const char *home_note = "home", *originals_note = "copied_from",
                     *cluster_note = "cluster_id";

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

std::vector<Original> noted_originals(Database &store) {
  std::vector<Original> originals;
  const std::string text = noted(store, originals_note);
  if (text.empty()) return originals;
  for (const Json &one : parse_json(text, "what a copied store has noted"))
    originals.push_back({one.at("home").get<std::string>(), one.at("cluster_id"),
                         one.at("last_experiment"), one.at("last_checkpoint")});
  return originals;
}

void note_originals(Database &store, const std::vector<Original> &originals) {
  Json all = Json::array();
  for (const Original &one : originals)
    all.push_back({{"home", one.home.string()},
                   {"cluster_id", one.cluster_id},
                   {"last_experiment", one.last_experiment},
                   {"last_checkpoint", one.last_checkpoint}});
  note(store, originals_note, to_wire(all));
}

fs::path real_home(const Database &store) {
  std::error_code failed;
  const fs::path home = fs::canonical(home_of(store), failed);
  return failed ? fs::path() : home;
}

// Where a store is whose directory has the name of this one's.
fs::path directory_in(const fs::path &home, const Database &store) {
  return home / store.path().parent_path().filename();
}

// What is made in one is seen in the other.
bool is_same_directory(const fs::path &one, const fs::path &other) {
  const std::string name = ".place-" + make_uuid();
  const Fd file = open_file(one / name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  struct stat about {};
  const bool is_seen = lstat((other / name).c_str(), &about) == 0;
  unlink((one / name).c_str());
  return is_seen;
}

// Whether what is at another place is this store, seen another way. File systems may number one
// file differently.
bool is_seen_at(const Database &store, const fs::path &home) {
  const fs::path other = directory_in(home, store);
  struct stat own {
  }, there{};
  if (stat(store.path().c_str(), &own) != 0 || stat(store_path(other).c_str(), &there) != 0)
    return false;
  return (own.st_dev == there.st_dev && own.st_ino == there.st_ino) ||
         is_same_directory(store.path().parent_path(), other);
}

// Whether a store of this id is there. Where it cannot be told now it is: files that go are gone.
bool is_at(const Database &store, const fs::path &home, const std::string &cluster_id) {
  const fs::path directory = directory_in(home, store);
  std::error_code failed;
  if (!fs::exists(store_path(directory), failed) && !failed) return false;
  try {
    return read_cluster_id(directory) == cluster_id;
  } catch (const Error &) {
    return true;
  }
}

// Whether a process works on it, whose locks would not be held in a copy.
bool is_in_use(Database &store) {
  const fs::path directory = store.path().parent_path();
  for (const fs::path &run : journal::list_run_directories(directory))
    if (owner_liveness(journal::owner_file(run)) == Liveness::alive) return true;
  Query led = store.query("SELECT id FROM experiments WHERE managed<>0 AND ended IS NULL");
  while (led.next())
    if (supervisor_liveness(directory, led.integer(0)) == Liveness::alive) return true;
  return false;
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

// What the store has been until now, at a place where no other store is.
Original present_state(Database &store) {
  Query last = store.query(
      "SELECT (SELECT COALESCE(MAX(id), 0) FROM experiments),"
      " (SELECT COALESCE(MAX(id), 0) FROM checkpoints)");
  last.next();
  return {fs::path(), noted(store, cluster_note), last.integer(0), last.integer(1)};
}

// The last row that both have. `mark` is what no two rows have in common.
int64_t last_common(Database &store, Database &other, const std::string &table,
                    const std::string &mark) {
  Query own = store.query("SELECT id, " + mark + " FROM " + table + " ORDER BY id DESC");
  while (own.next())
    if (other
            .query("SELECT 1 FROM " + table + " WHERE id=? AND " + mark + "=?", own.integer(0),
                   own.text(1))
            .next())
      return own.integer(0);
  return 0;
}

// Earlier releases used a copy without noting that it is one: both have gone on since.
Original original_at(Database &store, const fs::path &home) {
  Original original = present_state(store);
  original.home = home;
  try {
    Database other = open_other_store(directory_in(home, store));
    original.last_experiment = last_common(store, other, "experiments", "CAST(created AS TEXT)");
    original.last_checkpoint = last_common(store, other, "checkpoints", "uuid");
  } catch (const Error &) {
    // It cannot be told: all of it may be the other's.
  }
  return original;
}

// `other`: where the store was, and another is; empty: none is there.
void change_identity(Database &store, const fs::path &home, const fs::path &other) {
  std::vector<Original> originals = noted_originals(store);
  const auto former = std::ranges::find(originals, home, &Original::home);
  const bool takes_place = former != originals.end();
  if (!takes_place && other.empty()) return;
  const std::string id = takes_place ? former->cluster_id : make_uuid();
  if (takes_place) originals.erase(former);
  originals.push_back(takes_place ? present_state(store) : original_at(store, other));
  note_originals(store, originals);
  note(store, cluster_note, id);
}

[[noreturn]] void refuse_shared_files(const std::string &tried, const Original &original) {
  throw Error(Code::state,
              "deleting " + tried + ": this store is a copy of the one in '" +
                  original.home.string() +
                  "', and its files are outside of the store, so that they belong to that one too; "
                  "delete it there. If this copy is to take its place, move that one away first");
}

}  // namespace

void note_earlier_place(Database &store, const fs::path &home) {
  if (noted(store, home_note).empty()) note(store, home_note, home.string());
}

void note_place(Database &store) {
  const fs::path home = real_home(store);
  const fs::path before = noted(store, home_note);
  if (home.empty() || home == before) return;
  if (!before.empty() && is_seen_at(store, before)) return;
  const bool is_copy = !before.empty() && is_at(store, before, noted(store, cluster_note));
  if (is_copy && is_in_use(store)) return;
  Transaction transaction(store, Durability::relaxed);
  if (noted(store, home_note) != before) return;  // another process was faster
  if (is_copy) leave_runs_to_other(store);
  change_identity(store, home, is_copy ? before : fs::path());
  note(store, home_note, home.string());
  transaction.commit();
}

CopiedStore::CopiedStore(Database &store) : home_(real_home(store)) {
  for (Original &one : noted_originals(store))
    if (!one.home.empty() && is_at(store, one.home, one.cluster_id))
      present_.push_back(std::move(one));
}

const Original *CopiedStore::original_of_checkpoint(int64_t checkpoint) const {
  const auto found = std::ranges::find_if(
      present_, [&](const Original &one) { return checkpoint <= one.last_checkpoint; });
  return found == present_.end() ? nullptr : &*found;
}

const Original *CopiedStore::original_of_experiment(int64_t experiment_id) const {
  const auto found = std::ranges::find_if(
      present_, [&](const Original &one) { return experiment_id <= one.last_experiment; });
  return found == present_.end() ? nullptr : &*found;
}

bool CopiedStore::shares(int64_t checkpoint, const Json &recorded_storage) const {
  return original_of_checkpoint(checkpoint) != nullptr && is_outside(recorded_storage);
}

// A copy has the links of the other one, and with them its files.
bool CopiedStore::is_outside(const Json &recorded_storage) const {
  if (home_.empty() || !is_in_home(recorded_storage)) return true;
  std::error_code failed;
  const fs::path real =
      fs::weakly_canonical(directory_of(used_storage(home_, recorded_storage)), failed);
  return failed || !is_below(normal_path(real), home_);
}

void require_own_files(Database &store, int64_t experiment_id) {
  const CopiedStore copied(store);
  const Original *original = copied.original_of_experiment(experiment_id);
  if (original == nullptr) return;
  const std::string tried = "experiment " + std::to_string(experiment_id);
  Query files = store.query(
      "SELECT checkpoints.id, storage FROM trials JOIN checkpoints ON trial_id=trials.id"
      " WHERE experiment_id=? AND checkpoints.state<>'DELETED'",
      experiment_id);
  while (files.next())
    if (copied.shares(files.integer(0), parse_json(files.view(1), "a stored storage")))
      refuse_shared_files(tried, *original);
  Query config = store.query("SELECT config FROM experiments WHERE id=?", experiment_id);
  if (!config.next()) return;
  const Json section = parse_json_object(config.view(0), "the stored configuration")
                           .value("checkpoint_storage", Json());
  if (storage::says_where(section) && copied.is_outside(section))
    refuse_shared_files(tried, *original);
}

void require_own_files(Database &store, const std::string &checkpoint) {
  const CopiedStore copied(store);
  Query row = store.query("SELECT id, storage FROM checkpoints WHERE uuid=?", checkpoint);
  if (!row.next()) return;
  const Original *original = copied.original_of_checkpoint(row.integer(0));
  if (original != nullptr && copied.is_outside(parse_json(row.view(1), "a stored storage")))
    refuse_shared_files("checkpoint " + checkpoint, *original);
}

std::vector<std::string> cluster_ids_of(Database &store, int64_t experiment_id) {
  std::vector<std::string> ids{noted(store, cluster_note)};
  for (const Original &one : noted_originals(store))
    if (experiment_id <= one.last_experiment && std::ranges::find(ids, one.cluster_id) == ids.end())
      ids.push_back(one.cluster_id);
  return ids;
}

}  // namespace det::engine
