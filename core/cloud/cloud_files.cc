// What is done in a bucket without a local directory: files beside checkpoints, and copies.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/cloud/cloud_storage.h"
#include "core/cloud/object_text.h"
#include "core/cloud/part_plan.h"
#include "core/cloud/range_sink.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/request_scope.h"
#include "core/cloud/store_files.h"
#include "core/storage/tree.h"

namespace det::cloud {

namespace fs = std::filesystem;

namespace {

// Where the objects are, whatever their keys begin with.
Json service_of(Json config) {
  for (const char *own : {"prefix", "temp_dir", "deduplicate", "transfer_memory"})
    config.erase(own);
  return config;
}

std::shared_ptr<FileRange> range_of(const fs::path &path) {
  const std::string described = "'" + path.string() + "'";
  const auto file = std::make_shared<const Fd>(open_file(path, O_RDONLY));
  struct stat about {};
  if (fstat(file->get(), &about) != 0) OsFailure{errno}.raise("looking at " + described);
  return std::make_shared<FileRange>(described, file, 0, static_cast<uint64_t>(about.st_size));
}

}  // namespace

std::string CloudStorage::key_of_file(const std::string &path) const {
  const std::string key = bucket_->keys.prefix() + path;
  if (!storage::is_plain_path(path) || key.size() > bucket_->store->limits().key_max)
    throw Error(Code::invalid, "storing '" + bucket_->store->name_of(key) +
                                   "': no object can have that name; give the file another");
  return key;
}

void CloudStorage::put_file(const std::string &path, const fs::path &file) {
  const auto bytes = range_of(file);
  call_store([&] { bucket_->store->put(key_of_file(path), bytes); });
}

void CloudStorage::put_new_file(const std::string &path, const fs::path &file) {
  ObjectStore &store = *bucket_->store;
  const std::string key = key_of_file(path);
  const auto bytes = range_of(file);
  if (PartPlan(bytes->size(), store.limits()).count == 1)
    call_store([&] { store.put(key, bytes, true); });
  else put_new_parts(key, file, bytes->size());
  drop_uploads(key);
}

void CloudStorage::put_new_parts(const std::string &key, const fs::path &file, uint64_t size) {
  ObjectStore &store = *bucket_->store;
  const auto refuse_second = [&] {
    if (store.find(key))
      throw Error(Code::conflict, "storing '" + store.name_of(key) + "': it is there already");
  };
  call_store(refuse_second);
  OpenUploads open;
  StoreOptions options;
  options.requests = bucket_->requests;
  options.open = &open;
  try {
    store_files(store, storage::Tree(file.parent_path()), {{file.filename().string(), key, size}},
                options, bucket_->progress());
  } catch (const Error &error) {
    abort_uploads(open.take());
    // Whoever was faster has dropped this one.
    if (error.code == Code::not_found) call_store(refuse_second);
    throw;
  } catch (...) {
    abort_uploads(open.take());
    throw;
  }
}

// Of an object that is there: those that were killed, and those that come too late.
void CloudStorage::drop_uploads(const std::string &key) const try {
  RequestScope scope(nullptr);
  scope.attempts = 1;
  const InRequestScope in_scope(scope);
  for (const PendingUpload &pending : bucket_->store->list_uploads(key))
    if (pending.key == key) bucket_->store->abort_parts(key, pending.upload);
} catch (const Error &error) {
  // Who may not list them leaves them to the bucket's rules.
  bucket_->logger->debug("looking for unfinished uploads: ", error.what());
}

// After a failure, which is what is told: without trying again.
void CloudStorage::abort_uploads(const std::map<std::string, std::string> &uploads) const try {
  RequestScope scope(nullptr);
  scope.attempts = 1;
  const InRequestScope in_scope(scope);
  for (const auto &[key, upload] : uploads) bucket_->store->abort_parts(key, upload);
} catch (const Error &error) {
  bucket_->logger->warning("giving up an upload in parts: " + std::string(error.what()) +
                           "; let the bucket remove such by itself");
}

// Whoever is told of its progress may end it.
void CloudStorage::call_store(const std::function<void()> &call) const {
  RequestPool pool(1, bucket_->progress());
  bool is_given = false;
  pool.run([&] { return std::exchange(is_given, true) ? RequestPool::Task() : call; });
}

void CloudStorage::remove_files(const std::string &directory) {
  std::vector<std::string> keys;
  bucket_->store->list(key_of_file(directory) + "/",
                       [&](const ObjectInfo &info) { keys.push_back(info.key); });
  remove_objects(*bucket_, keys);
}

std::vector<storage::KeptFile> CloudStorage::list_files(const std::string &directory) {
  const std::string prefix = key_of_file(directory) + "/";
  std::vector<storage::KeptFile> files;
  call_store([&] {
    bucket_->store->list(prefix, [&](const ObjectInfo &info) {
      std::string path = info.key.substr(prefix.size());
      if (storage::is_plain_path(path)) files.push_back({std::move(path), info.size, info.version});
    });
  });
  // A name may also be that of a folder: some stores keep an empty object for each.
  std::set<std::string> folders;
  for (const storage::KeptFile &file : files)
    for (fs::path path = fs::path(file.path).parent_path(); !path.empty();
         path = path.parent_path())
      if (!folders.insert(path.string()).second) break;
  std::erase_if(files, [&](const storage::KeptFile &file) { return folders.contains(file.path); });
  return files;
}

void CloudStorage::read_files(const std::string &directory,
                              const std::vector<storage::KeptRange> &ranges) {
  storage::Progress *progress = bucket_->progress();
  uint64_t bytes = 0;
  for (const storage::KeptRange &range : ranges) bytes += range.size;
  if (progress != nullptr) progress->expect(bytes, ranges.size());
  RequestPool pool(bucket_->requests, progress);
  auto next = ranges.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == ranges.end()) return nullptr;
    return [&, &range = *next++] {
      const std::string key = key_of_file(directory + "/" + range.path);
      const auto file =
          std::make_shared<const Fd>(open_file(range.file, O_WRONLY | O_CREAT, default_file_mode));
      const auto sink = std::make_shared<RangeSink>(file, "'" + range.file.string() + "'",
                                                    range.offset, range.size, pool.moved(), false);
      try {
        if (range.size > 0) bucket_->store->get(key, range.offset, range.size, "", sink);
      } catch (const Error &error) {
        if (error.code != Code::not_found && error.http_status != 416) throw;
      }
      pool.count_file();
    };
  });
}

bool CloudStorage::copy_to(storage::Storage &other, const std::string &id) {
  const auto *to = dynamic_cast<CloudStorage *>(&other);
  if (to == nullptr || service_of(to->config_) != service_of(config_)) return false;
  const StoredCheckpoint found = stored(id);
  if (!found.has_manifest || found.is_chunked) return false;
  if (is_stored(*to->bucket_, id))
    throw Error(Code::conflict, "copying to " + to->name_of(id) + ": the id is taken there");
  to->bucket_->intents.put(id, Purpose::writing, to->cluster_id_, {}, true);
  try {
    if (!copy_objects(found, id, *to->bucket_)) {
      to->discard_unfinished(id);
      return false;
    }
    // Last, as always: from here on it is visible.
    const auto text = read_object(*bucket_->store, bucket_->keys.manifest(id));
    if (!text)
      throw Error(Code::not_found,
                  "copying checkpoint " + name_of(id) + ": it was removed meanwhile");
    write_object(*to->bucket_->store, to->bucket_->keys.manifest(id), *text, true);
  } catch (const Error &) {
    to->discard_unfinished(id);
    throw;
  }
  to->bucket_->intents.remove(id);
  return true;
}

// False where the store cannot copy one of them.
bool CloudStorage::copy_objects(const StoredCheckpoint &found, const std::string &id,
                                const Bucket &to) const {
  std::vector<std::pair<std::string, uint64_t>> paths;
  uint64_t bytes = 0;
  for (const auto &[path, size] : found.resources()) {
    // Only one that is empty has an object.
    if (path.ends_with('/')) {
      const auto inside = found.files.upper_bound(path);
      const bool is_empty = inside == found.files.end() || !inside->first.starts_with(path);
      if (is_empty && to.store->keeps_directories())
        to.store->put(to.keys.of(id, path), std::make_shared<TextRange>("a directory", ""));
      continue;
    }
    paths.emplace_back(path, size);
    bytes += size;
  }
  storage::Progress *progress = bucket_->progress();
  if (progress != nullptr) progress->expect(bytes, found.files.size());
  std::atomic<bool> can{true};
  RequestPool pool(bucket_->requests, progress);
  auto next = paths.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == paths.end() || !can) return nullptr;
    return [&, one = *next++] {
      const std::string from = bucket_->keys.checkpoint(id) + one.first;
      if (!bucket_->store->copy(from, to.keys.of(id, one.first))) can = false;
      *pool.moved() += one.second;
      pool.count_file();
    };
  });
  return can;
}

void CloudStorage::discard_unfinished(const std::string &id) const {
  try {
    discard_checkpoint(*bucket_, id);
    bucket_->intents.remove(id);
  } catch (const Error &error) {
    bucket_->logger->warning("removing the unfinished copy " + name_of(id) + ": " + error.what() +
                             "; the next sweep removes it");
  }
}

}  // namespace det::cloud
