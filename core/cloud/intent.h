// "<prefix>/.detcore/pending/<id>": what a process is about to make or to remove in a bucket, so
// that what it leaves is found when it dies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/process.h"
#include "core/cloud/keys.h"
#include "core/cloud/object_store.h"

namespace det::cloud {

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

// One user's view of all that are in a bucket.
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

}  // namespace det::cloud
