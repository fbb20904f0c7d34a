// What is removed from a bucket, on demand and after processes that were killed, and the end of it.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/cloud/checkpoints/bucket.h"
#include "core/storage/storage.h"

namespace det::cloud {

// As storage::Storage has them.
class BucketRemovals {
 public:
  explicit BucketRemovals(std::shared_ptr<const Bucket> bucket) : bucket_(std::move(bucket)) {}

  void serve(const std::string &cluster_id) { cluster_id_ = cluster_id; }
  const std::string &cluster_id() const { return cluster_id_; }

  void withdraw(const std::string &id);
  void remove(const std::string &id);
  storage::Resources remove_matching(const std::string &id, const std::vector<std::string> &globs);
  std::vector<std::string> sweep();
  void settle(const std::string &id);

 private:
  void sweep_objects(const Bucket &bucket);
  void sweep_intent(const Bucket &bucket, const Intent &intent);
  static void abort_orphaned_uploads(const Bucket &bucket, const std::vector<Intent> &intents);

  const std::shared_ptr<const Bucket> bucket_;
  std::string cluster_id_;
  std::mutex mutex_;
  std::set<std::string> unsettled_;   // swept or withdrawn
  std::set<std::string> unfinished_;  // whose removal failed half way
};

}  // namespace det::cloud
