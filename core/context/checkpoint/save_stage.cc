#include "core/context/checkpoint/save_stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/storage/tree.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

// In memory that everybody may use, such as /dev/shm, what is staged is nobody else's to read.
fs::path own_place(const fs::path &directory) {
  make_directories(directory);
  const fs::path path = fs::absolute(directory) / (".detcore-saves-" + std::to_string(geteuid()));
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory '" + path.string() + "'");
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0)
    OsFailure{errno}.raise("looking at '" + path.string() + "'");
  if (!S_ISDIR(about.st_mode) || about.st_uid != geteuid() || (about.st_mode & 077) != 0)
    throw Error(Code::access, "staging saves in '" + path.string() +
                                  "': other users may change what is in it; remove it, or name a "
                                  "directory that you own");
  return path;
}

uint64_t bytes_in(const storage::Resources &resources) {
  uint64_t bytes = 0;
  for (const auto &[path, size] : resources) bytes += size;
  return bytes;
}

}  // namespace

SaveStage::SaveStage(const fs::path &directory, uint64_t limit_bytes, const std::string &cluster_id,
                     const std::shared_ptr<Logger> &logger)
    : path_(own_place(directory)),
      limit_bytes_(limit_bytes),
      logger_(logger),
      spares_(std::make_shared<storage::SpareFiles>()),
      storage_({.base = path_,
                .config = {},
                .base_key = "directory",
                .durable = false,
                .spares = spares_},
               logger) {
  storage_.serve(cluster_id);
}

std::unique_ptr<storage::CheckpointWriter> SaveStage::begin(const std::string &id) {
  return storage_.begin(id);
}

std::vector<std::unique_ptr<storage::CheckpointWriter>> SaveStage::take_sealed(
    const std::string &owner) {
  std::vector<std::unique_ptr<storage::CheckpointWriter>> sealed = storage_.take_sealed(owner);
  // What is visible here is only kept.
  for (const std::string &id : storage_.sweep()) storage_.settle(id);
  return sealed;
}

std::vector<SaveStage::Kept> SaveStage::kept() {
  std::vector<Kept> all;
  for (const std::string &name : entry_names(path_)) {
    struct stat about {};
    if (!storage::is_storage_id(name) || lstat((path_ / name).c_str(), &about) != 0) continue;
    all.push_back({name, int64_t{about.st_ctim.tv_sec} * 1'000'000'000 + about.st_ctim.tv_nsec,
                   bytes_in(storage_.list(name))});
  }
  std::ranges::sort(all, {}, &Kept::time_ns);
  return all;
}

void SaveStage::make_room(uint64_t bytes, Bytes where, uint64_t under_way) {
  const std::lock_guard guard(mutex_);
  std::erase_if(pins_, [](const auto &pin) { return pin.second.expired(); });
  const std::vector<Kept> all = kept();
  uint64_t used = bytes + under_way;
  for (const Kept &each : all) used += each.bytes;
  for (const Kept &each : all) {
    if (used <= limit_bytes_) break;
    if (pins_.contains(each.id)) continue;
    storage_.reuse(each.id);
    used -= each.bytes;
  }
  left_ = limit_bytes_ - std::min(used, limit_bytes_);
  if (where == Bytes::come) spares_->limit(left_ += bytes);
}

void SaveStage::give_free() { spares_->limit(left_); }

void SaveStage::keep(storage::CheckpointWriter &writer, storage::Progress *progress) try {
  writer.commit({}, progress);
  writer.announced();
  storage_.prepare_to_reuse(writer.id());
} catch (const Error &error) {
  logger_->warning("keeping checkpoint " + writer.id() + " in '" + path_.string() +
                   "': " + error.what());
}

void SaveStage::drop(const std::string &id) {
  const std::lock_guard guard(mutex_);
  storage_.reuse(id);
}

bool SaveStage::has(const std::string &id, const storage::Resources &resources) try {
  return storage_.list(id) == resources;
} catch (const Error &) {
  return false;
}

std::shared_ptr<void> SaveStage::pin(const std::string &id) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<void> pin = pins_[id].lock();
  if (!pin) pins_[id] = pin = std::make_shared<int>();
  return pin;
}

std::shared_ptr<SaveStage> CurrentStage::get() {
  const std::lock_guard guard(mutex_);
  return stage_;
}

void CurrentStage::set(std::shared_ptr<SaveStage> stage) {
  const std::lock_guard guard(mutex_);
  stage_ = std::move(stage);
}

namespace {

engine::CheckpointEntry finish(storage::CheckpointWriter &writer, storage::Storage &storage,
                               engine::RunBackend &master) {
  engine::CheckpointReport report{writer.id(), read_metadata(writer.path()), {}, storage.config()};
  check_metadata(report.metadata, master.most_steps());
  report.resources = writer.commit();
  if (!master.checkpoints().knows(report.id)) master.checkpoints().report(report);
  writer.announced();
  return {report.id, report.metadata.at("steps_completed").get<int64_t>()};
}

// Nothing where it is not stored.
std::optional<storage::Resources> resources_in(storage::Storage &storage,
                                               const std::string &id) try {
  return storage.list(id);
} catch (const Error &error) {
  if (error.code != Code::not_found) throw;
  return std::nullopt;
}

engine::CheckpointEntry finish_staged(storage::CheckpointWriter &staged, SaveStage &stage,
                                      storage::Storage &storage, engine::RunBackend &master) {
  engine::CheckpointReport report{staged.id(), read_metadata(staged.path()), {}, storage.config()};
  check_metadata(report.metadata, master.most_steps());
  if (!master.checkpoints().knows(report.id)) {
    // Where it is stored already, only the master is to be told, and then the next sweep.
    if (const std::optional<storage::Resources> resources = resources_in(storage, report.id)) {
      report.resources = *resources;
      master.checkpoints().report(report);
    } else {
      const auto writer = storage.resume(report.id, staged.path());
      writer->add(staged.path(), std::nullopt);
      report.resources = writer->commit();
      master.checkpoints().report(report);
      writer->announced();
    }
  }
  stage.keep(staged);
  return {report.id, report.metadata.at("steps_completed").get<int64_t>()};
}

struct Latest {
  std::optional<engine::CheckpointEntry> entry;

  void add(const engine::CheckpointEntry &saved, Logger &logger) {
    logger.info("saved checkpoint ", saved.id, ", which a killed process had begun");
    if (!entry || entry->steps <= saved.steps) entry = saved;
  }
};

// Beside the directories of the runs; empty where these are nowhere.
fs::path note_of_stage(engine::RunBackend &master) {
  const fs::path run = master.run_directory();
  if (run.empty()) return {};
  const std::string owner = owner_of_saves(master.info());
  return run.parent_path().parent_path() / "stages" /
         (std::to_string(checksum64(owner.data(), owner.size())) + ".json");
}

fs::path noted_stage(engine::RunBackend &master) {
  const fs::path note = note_of_stage(master);
  if (note.empty() || !fs::exists(note)) return {};
  return parse_json_object(read_file(note), "'" + note.string() + "'")
      .at("directory")
      .get<std::string>();
}

}  // namespace

std::string owner_of_saves(const engine::RunInfo &run) {
  return "trial " + std::to_string(run.trial_id) + " of " + run.cluster_id;
}

void note_stage(engine::RunBackend &master, const fs::path &directory) {
  const fs::path note = note_of_stage(master);
  if (note.empty()) return;
  if (directory.empty()) {
    fs::remove(note);
    return;
  }
  make_directories(note.parent_path());
  write_file_durably(note, to_wire(Json{{"directory", fs::absolute(directory).string()}}));
}

std::optional<engine::CheckpointEntry> finish_sealed_saves(
    storage::Storage &storage, engine::RunBackend &master,
    const std::shared_ptr<Logger> &logger) try {
  storage.serve(master.info().cluster_id);
  const std::string owner = owner_of_saves(master.info());
  Latest latest;
  for (const std::unique_ptr<storage::CheckpointWriter> &writer : storage.take_sealed(owner)) try {
      latest.add(finish(*writer, storage, master), *logger);
    } catch (const Error &error) {
      logger->warning("finishing checkpoint " + writer->id() +
                      ", which a killed process had begun: " + error.what());
    }
  const fs::path directory = noted_stage(master);
  std::error_code gone;
  if (directory.empty() || !fs::is_directory(directory, gone)) return latest.entry;
  SaveStage stage(directory, UINT64_MAX, master.info().cluster_id, logger);
  std::vector<std::unique_ptr<storage::CheckpointWriter>> staged = stage.take_sealed(owner);
  if (!staged.empty()) storage.sweep();  // what the same process left of them there
  for (std::unique_ptr<storage::CheckpointWriter> &writer : staged) try {
      latest.add(finish_staged(*writer, stage, storage, master), *logger);
    } catch (const Error &error) {
      logger->warning("storing checkpoint " + writer->id() + " from '" + directory.string() +
                      "', where a killed process had put it: " + error.what() +
                      "; the next start tries again");
      static_cast<void>(writer.release());  // its files stay
    }
  return latest.entry;
} catch (const Error &error) {
  // The next start tries again; training need not wait for that.
  logger->warning(std::string("finishing what killed processes had begun to save: ") +
                  error.what());
  return std::nullopt;
}

}  // namespace det::context
