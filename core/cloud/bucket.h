// What the storage in a bucket and its writers share.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/base/log.h"
#include "core/cloud/intent.h"
#include "core/cloud/keys.h"
#include "core/cloud/object_store.h"
#include "core/storage/progress.h"

namespace det::cloud {

struct Bucket {
  std::shared_ptr<ObjectStore> store;
  Keys keys;
  Intents intents;
  std::filesystem::path temporary;  // for local directories
  size_t requests;                  // at a time, of one transfer
  std::function<storage::Progress *()> progress;
  std::shared_ptr<Logger> logger;
};

// Removes all objects of the checkpoint, those first that make it visible, and what was begun of
// others. Nothing there is no error.
void discard_checkpoint(const Bucket &bucket, const std::string &id);

// Several at a time; absent is fine.
void remove_objects(const Bucket &bucket, const std::vector<std::string> &keys);

}  // namespace det::cloud
