// Brings files into a store: several at once, large ones in parts.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/cloud/object_store.h"
#include "core/storage/progress.h"
#include "core/storage/share.h"
#include "core/storage/tree.h"

namespace det::cloud {

struct FileToStore {
  std::string path;  // below the tree
  std::string key;
  uint64_t size = 0;  // as it was listed, for the progress
};

// Uploads in parts that are begun and not completed; from any thread.
class OpenUploads {
 public:
  void add(const std::string &key, const std::string &upload) {
    const std::lock_guard lock(mutex_);
    by_key_[key] = upload;
  }
  void remove(const std::string &key) {
    const std::lock_guard lock(mutex_);
    by_key_.erase(key);
  }
  std::map<std::string, std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(by_key_, {});
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> by_key_;
};

struct StoreOptions {
  size_t requests = 64;   // at a time, at most
  bool confined = false;  // no link may lead out of the tree
  // Objects that stand already, by key, of an upload that is continued: such a file is not sent
  // again where its object has its bytes, and parts that stand are left alone.
  const std::map<std::string, ObjectInfo> *standing = nullptr;
  // What is known of files that nobody has changed since.
  const storage::HashedFiles *known = nullptr;
  OpenUploads *open = nullptr;  // where those are kept that a failure leaves
};

// Throws Code::conflict for a file that changes meanwhile. After a throw some may be there, and
// parts of others. Told to `progress`, which may be null.
storage::HashedFiles store_files(ObjectStore &store, const storage::Tree &source,
                                 const std::vector<FileToStore> &files, const StoreOptions &options,
                                 storage::Progress *progress);

}  // namespace det::cloud
