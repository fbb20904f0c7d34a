// What the storage in a bucket and its writers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log/log.h"
#include "core/base/process/process.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

// The names of a checkpoint's objects: "<prefix>/<id>/<path>". Both the paths of files and the keys
// of objects come from outside and are checked on their way.
class Keys {
 public:
  // `prefix` as storage::normalized_prefix() gives it.
  Keys(std::string prefix, size_t key_max);

  const std::string &prefix() const { return prefix_; }  // empty, or with '/' at its end
  std::string checkpoint(const std::string &id) const;   // with '/' at its end
  std::string manifest(const std::string &id) const;
  std::string pending() const;  // of all, with '/' at its end
  std::string pending(const std::string &id) const;
  std::string chunks() const;  // of all that files are made of, and what belongs to them
  // The list of the chunks of a checkpoint, for who reads it.
  std::string chunk_list(const std::string &id) const;

  // Of a file, or of a directory with '/' at its end; Code::invalid where no object can have that
  // name.
  std::string of(const std::string &id, const std::string &path) const;

  // The path of an object of the checkpoint; Code::corrupt where it would lead out of it.
  std::string path_of(const std::string &id, const std::string &key) const;

 private:
  std::string prefix_;
  size_t key_max_;
};

// What is under way. `withdrawn` is to be told to the master when its process dies, as is `writing`
// once the manifest stands.
enum class Purpose { writing, withdrawn, removing };

struct Intent {
  std::string id;
  Purpose purpose = Purpose::writing;
  std::string cluster_id;  // of the master that knows the checkpoint
  ProcessIdentity owner;
  int64_t modified_ms = 0;  // by the clock of the store
  std::string source{};     // a directory of its machine that has all files; empty: there is none

  // Whether nobody works on it any more. Of another machine that is told by its age alone.
  bool is_abandoned() const;
  // Whether a later process of this machine is to finish it from `source`.
  bool is_awaited() const;
};

// "<prefix>/.detcore/pending/<id>": what a process is about to make or to remove in a bucket, so
// that what it leaves is found when it dies. One user's view of all of them.
class Intents {
 public:
  Intents(std::shared_ptr<ObjectStore> store, Keys keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}

  // Code::conflict where there is one already, unless it may be replaced.
  void put(const std::string &id, Purpose purpose, const std::string &cluster_id,
           const std::string &source = {}, bool only_new = false) const;
  bool has(const std::string &id) const;
  std::optional<Intent> find(const std::string &id) const;
  void remove(const std::string &id) const;
  std::vector<Intent> all() const;

 private:
  std::optional<Intent> read(const std::string &id, int64_t modified_ms) const;

  std::shared_ptr<ObjectStore> store_;
  Keys keys_;
};

struct Bucket {
  std::shared_ptr<ObjectStore> store;
  Keys keys;
  Intents intents;
  std::filesystem::path temporary;  // for local directories
  size_t requests;                  // at a time, of one transfer
  std::shared_ptr<Logger> logger;

  // The same for the calls of `scope`, which must outlive them.
  Bucket within(RequestScope &scope) const {
    Bucket some = *this;
    some.store = store->within(scope);
    some.intents = Intents(some.store, keys);
    return some;
  }
};

// Attempts at a request of what keeps order: at the start of a program, which should not wait for a
// store that does not answer.
inline constexpr int attempts_of_upkeep = 3;

// The name of a checkpoint, quoted, for messages.
std::string name_of(const Bucket &bucket, const std::string &id);

// Removes all objects of the checkpoint, those first that make it visible, and what was begun of
// others. Nothing there is no error.
void discard_checkpoint(const Bucket &bucket, const std::string &id);

// Several at a time; absent is fine.
void remove_objects(const Bucket &bucket, const std::vector<std::string> &keys);

// Small objects as text.

// Nothing where it is not there. Code::corrupt where it is longer than any that we wrote.
std::optional<std::string> read_object(ObjectStore &store, const std::string &key);

void write_object(ObjectStore &store, const std::string &key, std::string text,
                  bool only_new = false);

}  // namespace det::cloud
