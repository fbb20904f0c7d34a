#include "core/cloud/checkpoints/kept_objects.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/cloud/checkpoints/object_transfer.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/request_scope.h"
#include "core/storage/progress.h"
#include "core/storage/tree.h"

namespace det::cloud {

namespace fs = std::filesystem;

namespace {

std::shared_ptr<FileRange> range_of(const fs::path &path) {
  const std::string described = "'" + path.string() + "'";
  const auto file = std::make_shared<const Fd>(open_file(path, O_RDONLY));
  struct stat about {};
  if (fstat(file->get(), &about) != 0) OsFailure{errno}.raise("looking at " + described);
  return std::make_shared<FileRange>(described, file, 0, static_cast<uint64_t>(about.st_size));
}

// Whoever is told of its progress may end it.
void call_store(ObjectStore &store, storage::Progress *progress,
                const std::function<void(ObjectStore &)> &call) {
  RequestPool pool(store, 1, progress);
  bool is_given = false;
  pool.run([&]() -> RequestPool::Task {
    if (std::exchange(is_given, true)) return nullptr;
    return [&] { call(pool.store()); };
  });
}

}  // namespace

std::string KeptObjects::key_of(const std::string &path) const {
  const std::string key = bucket_->keys.prefix() + path;
  if (!storage::is_plain_path(path) || key.size() > bucket_->store->limits().key_max)
    throw Error(Code::invalid, "storing '" + bucket_->store->name_of(key) +
                                   "': no object can have that name; give the file another");
  return key;
}

void KeptObjects::put(const std::string &path, const fs::path &file, storage::Progress *progress) {
  const auto bytes = range_of(file);
  call_store(*bucket_->store, progress,
             [&](ObjectStore &store) { store.put(key_of(path), bytes); });
}

void KeptObjects::put_new(const std::string &path, const fs::path &file,
                          storage::Progress *progress) {
  ObjectStore &store = *bucket_->store;
  const std::string key = key_of(path);
  const auto bytes = range_of(file);
  if (PartPlan(bytes->size(), store.limits()).count == 1)
    call_store(store, progress, [&](ObjectStore &some) { some.put(key, bytes, true); });
  else put_parts(key, file, bytes->size(), progress);
  drop_uploads(key);
}

void KeptObjects::put_parts(const std::string &key, const fs::path &file, uint64_t size,
                            storage::Progress *progress) const {
  ObjectStore &store = *bucket_->store;
  const auto refuse_second = [&](ObjectStore &some) {
    if (some.find(key))
      throw Error(Code::conflict, "storing '" + store.name_of(key) + "': it is there already");
  };
  call_store(store, progress, refuse_second);
  OpenUploads open;
  UploadOptions options;
  options.requests = bucket_->requests;
  options.open = &open;
  try {
    upload_files(store, storage::Tree(file.parent_path()), {{file.filename().string(), key, size}},
                 options, progress);
  } catch (const Error &error) {
    abort_uploads(open.take());
    // Whoever was faster has dropped this one.
    if (error.code == Code::not_found) call_store(store, progress, refuse_second);
    throw;
  } catch (...) {
    abort_uploads(open.take());
    throw;
  }
}

// Of an object that is there: those that were killed, and those that come too late.
void KeptObjects::drop_uploads(const std::string &key) const try {
  RequestScope scope(nullptr, 1);
  const auto store = bucket_->store->within(scope);
  for (const PendingUpload &pending : store->list_uploads(key))
    if (pending.key == key) store->abort_parts(key, pending.upload);
} catch (const Error &error) {
  // Who may not list them leaves them to the bucket's rules.
  bucket_->logger->debug("looking for unfinished uploads: ", error.what());
}

// After a failure, which is what is told: without trying again.
void KeptObjects::abort_uploads(const std::map<std::string, std::string> &uploads) const try {
  RequestScope scope(nullptr, 1);
  const auto store = bucket_->store->within(scope);
  for (const auto &[key, upload] : uploads) store->abort_parts(key, upload);
} catch (const Error &error) {
  bucket_->logger->warning("giving up an upload in parts: " + std::string(error.what()) +
                           "; let the bucket remove such by itself");
}

void KeptObjects::remove(const std::string &directory) {
  std::vector<std::string> keys;
  bucket_->store->list(key_of(directory) + "/",
                       [&](const ObjectInfo &info) { keys.push_back(info.key); });
  remove_objects(*bucket_, keys);
}

std::vector<storage::KeptFile> KeptObjects::list(const std::string &directory,
                                                 storage::Progress *progress) {
  const std::string prefix = key_of(directory) + "/";
  std::vector<storage::KeptFile> files;
  call_store(*bucket_->store, progress, [&](ObjectStore &store) {
    store.list(prefix, [&](const ObjectInfo &info) {
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

void KeptObjects::read(const std::string &directory, const std::vector<storage::KeptRange> &ranges,
                       storage::Progress *progress) {
  uint64_t bytes = 0;
  for (const storage::KeptRange &range : ranges) bytes += range.size;
  if (progress != nullptr) progress->expect(bytes, ranges.size());
  RequestPool pool(*bucket_->store, bucket_->requests, progress);
  auto next = ranges.begin();
  pool.run([&]() -> RequestPool::Task {
    if (next == ranges.end()) return nullptr;
    return [&, &range = *next++] {
      const std::string key = key_of(directory + "/" + range.path);
      const auto file =
          std::make_shared<const Fd>(open_file(range.file, O_WRONLY | O_CREAT, default_file_mode));
      const auto sink = std::make_shared<RangeSink>(file, "'" + range.file.string() + "'",
                                                    range.offset, range.size, pool.moved(), false);
      try {
        if (range.size > 0) pool.store().get(key, range.offset, range.size, "", sink);
      } catch (const Error &error) {
        if (error.code != Code::not_found && error.http_status != 416) throw;
      }
      pool.count_file();
    };
  });
}

}  // namespace det::cloud
