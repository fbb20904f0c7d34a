#include "core/context/save_stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/file.h"
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
                                  "directory of your own");
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

void SaveStage::keep(storage::CheckpointWriter &writer) try {
  writer.commit();
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

}  // namespace det::context
