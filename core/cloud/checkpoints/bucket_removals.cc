#include "core/cloud/checkpoints/bucket_removals.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cloud/checkpoints/bucket_chunks.h"
#include "core/cloud/checkpoints/local_directory.h"
#include "core/cloud/checkpoints/stored_checkpoint.h"
#include "core/cloud/request_scope.h"
#include "core/storage/glob.h"
#include "core/storage/manifest.h"

namespace det::cloud {

namespace {

// Of uploads that no intent tells of: longer than any takes.
constexpr int64_t orphaned_after_ms = int64_t{7} * 24 * 3600 * 1000;

}  // namespace

void BucketRemovals::withdraw(const std::string &id) {
  storage::check_storage_id(id);
  const std::lock_guard guard(mutex_);
  if (unsettled_.contains(id) || !is_stored(*bucket_, id)) return;
  bucket_->intents.put(id, Purpose::withdrawn, cluster_id_);
  unsettled_.insert(id);
}

void BucketRemovals::remove(const std::string &id) {
  storage::check_storage_id(id);
  const std::lock_guard guard(mutex_);
  const bool is_held = unsettled_.contains(id);
  if (!is_held) {
    if (!is_stored(*bucket_, id)) return;
    bucket_->intents.put(id, Purpose::removing, cluster_id_);
  }
  unfinished_.insert(id);
  discard_checkpoint(*bucket_, id);
  unfinished_.erase(id);
  if (!is_held) bucket_->intents.remove(id);
}

storage::Resources BucketRemovals::remove_matching(const std::string &id,
                                                   const std::vector<std::string> &globs) {
  storage::check_storage_id(id);
  const std::optional<StoredCheckpoint> found = find_checkpoint(*bucket_, id);
  if (!found) {
    bucket_->logger->info("removing from checkpoint '" + id + "': nothing is stored under that id");
    return {};
  }
  storage::Matches matches;
  if (std::ranges::count(globs, "**/*") == 0)
    matches = storage::match_globs(found->resources(), globs, *bucket_->logger);
  if (matches.remaining.empty()) {
    remove(id);
    return {};
  }
  storage::ManifestText manifest;
  std::vector<std::string> keys;
  for (const auto &[path, file] : found->files)
    if (matches.remaining.contains(path))
      manifest.files[path] = {file.size, file.checksum.value_or(0), file.attributes};
    else keys.push_back(bucket_->keys.checkpoint(id) + path);
  for (const auto &[path, mode] : found->directories)
    if (matches.remaining.contains(path + "/")) manifest.directories[path] = mode;
    else keys.push_back(bucket_->keys.checkpoint(id) + path + "/");
  // The manifest first: a file too many does no harm, one that is missed makes a checkpoint
  // unusable.
  manifest.chunked = found->is_chunked;
  if (found->has_manifest)
    write_object(*bucket_->store, bucket_->keys.manifest(id), storage::to_text(manifest));
  remove_objects(*bucket_, keys);
  if (found->is_chunked) narrow_chunk_lists(*bucket_, id, matches.remaining);
  return matches.remaining;
}

std::vector<std::string> BucketRemovals::sweep() {
  const std::lock_guard guard(mutex_);
  sweep_local_directories(bucket_->temporary, *bucket_->logger);
  RequestScope scope(nullptr, attempts_of_upkeep);
  try {
    sweep_objects(bucket_->within(scope));
  } catch (const Error &error) {
    if (!is_passing(error.code)) throw;
    bucket_->logger->warning("cleaning up after checkpoints of killed processes: ", error.what());
  }
  return {unsettled_.begin(), unsettled_.end()};
}

void BucketRemovals::sweep_objects(const Bucket &bucket) {
  const std::vector<Intent> intents = bucket.intents.all();
  for (const Intent &intent : intents)
    if (!unsettled_.contains(intent.id) && intent.is_abandoned() && !intent.is_awaited())
      sweep_intent(bucket, intent);
  abort_orphaned_uploads(bucket, intents);
}

void BucketRemovals::sweep_intent(const Bucket &bucket, const Intent &intent) {
  const bool is_visible = intent.purpose != Purpose::withdrawn &&
                          bucket.store->find(bucket.keys.manifest(intent.id)).has_value();
  if (intent.purpose == Purpose::removing && is_visible) {
    bucket.intents.remove(intent.id);  // nothing of it has gone yet
  } else if (is_visible && intent.cluster_id.empty() && !cluster_id_.empty()) {
    bucket.intents.remove(intent.id);  // saved without a master: there is none to tell
  } else if (intent.purpose == Purpose::withdrawn || is_visible) {
    // Of what another master knows only that one could tell.
    if (intent.cluster_id == cluster_id_) unsettled_.insert(intent.id);
  } else {
    // So that a rank of it that still sends something clears up after itself.
    bucket.intents.put(intent.id, Purpose::removing, cluster_id_);
    discard_checkpoint(bucket, intent.id);
    bucket.intents.remove(intent.id);
    bucket.logger->info("removed what was left of checkpoint ", name_of(bucket, intent.id));
  }
}

void BucketRemovals::abort_orphaned_uploads(const Bucket &bucket,
                                            const std::vector<Intent> &intents) try {
  const std::string &prefix = bucket.keys.prefix();
  const int64_t now_ms = now_us() / 1000;
  for (const PendingUpload &pending : bucket.store->list_uploads(prefix)) {
    const std::string id =
        pending.key.substr(prefix.size(), pending.key.find('/', prefix.size()) - prefix.size());
    const bool is_awaited = std::any_of(intents.begin(), intents.end(),
                                        [&](const Intent &one) { return one.id == id; });
    if (storage::is_storage_id(id) && !is_awaited && now_ms - pending.begun_ms > orphaned_after_ms)
      bucket.store->abort_parts(pending.key, pending.upload);
  }
} catch (const Error &error) {
  // Who may not list them leaves them to the bucket's rules.
  if (error.code != Code::access) throw;
  bucket.logger->debug("looking for unfinished uploads: ", error.what());
}

void BucketRemovals::settle(const std::string &id) {
  storage::check_storage_id(id);
  const std::lock_guard guard(mutex_);
  if (unsettled_.erase(id) == 0) return;
  // What is left of it, a later sweep removes.
  if (unfinished_.erase(id) > 0) bucket_->intents.put(id, Purpose::removing, cluster_id_);
  else bucket_->intents.remove(id);
}

}  // namespace det::cloud
