#include "core/journal/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/fifo.h"
#include "core/base/uuid.h"
#include "core/journal/segment.h"

namespace det::journal {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view unfinished = ".part-";  // being made or removed

fs::path runs_directory(const fs::path &home) { return home / "runs"; }
fs::path turn_file(const fs::path &home) { return home / "runs.lock"; }

void move(const fs::path &directory, const fs::path &name) {
  if (rename(directory.c_str(), name.c_str()) != 0)
    OsFailure{errno}.raise("renaming '" + directory.string() + "'");
}

void remove_tree(const fs::path &path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  if (failed) OsFailure{failed.value()}.raise("removing '" + path.string() + "'");
}

// The caller makes directories, and nobody else. A process that was killed in this very run left
// this one, or one that died before the store recorded it, or a power cut took the record.
void clear_place(const fs::path &path, const JournalKey &rank, const RunDirectoryContent &content) {
  std::optional<OwnerLock> former;
  try {
    former = OwnerLock::take_over(owner_file(path));
  } catch (const Error &error) {
    if (error.os_errno == ENOENT && !fs::exists(path)) return;  // another has shipped what it held
    throw;
  }
  if (!former)
    throw Error(Code::state, "starting run " + std::to_string(rank.run_id) + " of trial " +
                                 std::to_string(rank.trial_id) + ": another process is rank " +
                                 std::to_string(rank.rank) + " of it, as '" +
                                 owner_file(path).string() + "' says; wait for its end");
  if (!has_journals(path)) remove_tree(path);
  // Its name is one under which list_run_directories() finds it too.
  else if (content.has_predecessors) move(path, path.string() + "-" + make_uuid());
  else set_aside(path);
}

}  // namespace

fs::path run_directory(const fs::path &home, int64_t trial_id, int64_t run_id, int rank) {
  std::string name = std::to_string(trial_id) + "." + std::to_string(run_id);
  if (rank != 0) name += "." + std::to_string(rank);
  return runs_directory(home) / name;
}

fs::path owner_file(const fs::path &run_directory) { return run_directory / "owner"; }
fs::path signal_file(const fs::path &run_directory) { return run_directory / "signal"; }

fs::path kept_file(const fs::path &run_directory, std::string_view name,
                   std::string_view extension) {
  return run_directory / std::string(name).append(segment_extension).append(extension);
}

OwnerLock make_run_directory(const fs::path &home, const JournalKey &rank,
                             const RunDirectoryContent &content) {
  const fs::path runs = runs_directory(home);
  make_directories(runs, 0700);
  const fs::path path = run_directory(home, rank.trial_id, rank.run_id, rank.rank);
  const UnsharedFd turn = wait_for_lock(turn_file(home));
  if (fs::exists(path)) clear_place(path, rank, content);
  const fs::path aside = runs / (std::string(unfinished) + make_uuid());
  make_directories(aside, 0700);
  OwnerLock owner = OwnerLock::acquire(owner_file(aside));

  Json about{{"trial_id", rank.trial_id},
             {"trial_run_id", rank.run_id},
             {"rank", rank.rank},
             {"journal_id", rank.journal_id}};
  about.update(content.about);
  const fs::path file = aside / "run.json";
  write_all(open_file(file, O_WRONLY | O_CREAT | O_EXCL, 0600).get(), to_wire(about) + "\n",
            file.string());
  // Where there are no FIFOs (some network file systems) the run looks into the store instead.
  if (content.with_signal) make_fifo(signal_file(aside));

  move(aside, path);
  return owner;
}

void sync_run_directory(const fs::path &run_directory) {
  const fs::path file = run_directory / "run.json";
  if (fsync(open_file(file, O_RDONLY).get()) != 0)
    OsFailure{errno}.raise("syncing '" + file.string() + "'");
  sync_directory(run_directory);
  sync_directory(run_directory.parent_path());
  sync_directory(run_directory.parent_path().parent_path());
}

Json read_about(const fs::path &run_directory) {
  const fs::path file = run_directory / "run.json";
  return parse_json_object(read_file(file), file.string());
}

JournalKey read_run_directory(const fs::path &run_directory) {
  try {
    const Json about = read_about(run_directory);
    return {about.at("trial_id").get<int64_t>(), about.at("trial_run_id").get<int64_t>(),
            about.at("rank").get<int>(), about.at("journal_id").get<std::string>()};
  } catch (const Json::exception &) {
    throw Error(Code::corrupt, "reading '" + (run_directory / "run.json").string() +
                                   "': it does not say which run this is; move its directory away");
  }
}

std::vector<fs::path> list_run_directories(const fs::path &home) {
  const fs::path runs = runs_directory(home);
  std::vector<std::pair<std::array<int64_t, 3>, fs::path>> found;
  for (const std::string &name : entry_names(runs)) {
    std::array<int64_t, 3> numbers{};  // trial, run, rank
    const int count = std::sscanf(name.c_str(), "%" SCNd64 ".%" SCNd64 ".%" SCNd64, &numbers[0],
                                  &numbers[1], &numbers[2]);
    if (count >= 2) found.push_back({numbers, runs / name});
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto &[key, path] : found) paths.push_back(std::move(path));
  return paths;
}

void clear_unfinished_directories(const fs::path &home) {
  const fs::path runs = runs_directory(home);
  std::vector<std::string> names = entry_names(runs);
  std::erase_if(names, [](const std::string &name) { return !name.starts_with(unfinished); });
  if (names.empty()) return;
  const UnsharedFd turn = wait_for_lock(turn_file(home));  // none of them is being made
  for (const std::string &name : names)
    if (owner_liveness(owner_file(runs / name)) == Liveness::dead) remove_tree(runs / name);
}

bool has_undelivered(const fs::path &run_directory) {
  const std::vector<std::string> names = entry_names(run_directory);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string &name) { return name.ends_with(segment_extension); });
}

bool has_journals(const fs::path &run_directory) {
  const std::vector<std::string> names = entry_names(run_directory);
  return std::any_of(names.begin(), names.end(), [](const std::string &name) {
    return name.find(segment_extension) != name.npos;
  });
}

fs::path set_aside(const fs::path &run_directory) {
  fs::path aside = run_directory.parent_path() / ("unknown-" + make_uuid());
  move(run_directory, aside);
  return aside;
}

void remove_run_directory(const fs::path &run_directory) {
  if (!has_journals(run_directory)) discard_run_directory(run_directory);
}

void discard_run_directory(const fs::path &run_directory) {
  // Gone for others in one step: they would otherwise find it without an owner.
  const fs::path aside = run_directory.parent_path() / (std::string(unfinished) + make_uuid());
  if (rename(run_directory.c_str(), aside.c_str()) == 0) remove_tree(aside);
  else if (errno != ENOENT) OsFailure{errno}.raise("removing '" + run_directory.string() + "'");
}

void wake_ranks(const fs::path &home, int64_t trial_id, int64_t run_id) {
  const fs::path chief = run_directory(home, trial_id, run_id);
  const std::string others = chief.filename().string() + ".";
  for (const std::string &name : entry_names(chief.parent_path())) {
    if (name != chief.filename() && !name.starts_with(others)) continue;
    // Where nobody listens the rank is gone, or looks into the store by itself.
    wake_fifo(signal_file(chief.parent_path() / name));
  }
}

}  // namespace det::journal
