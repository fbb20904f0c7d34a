// What killed processes left in a bucket, and the end of it.
#include <algorithm>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/cloud/chunks/references.h"
#include "core/cloud/cloud_storage.h"
#include "core/cloud/local_directory.h"
#include "core/cloud/request_scope.h"

namespace det::cloud {

namespace {

// Of uploads that no intent tells of: longer than any takes.
constexpr int64_t orphaned_after_ms = int64_t{7} * 24 * 3600 * 1000;

// At the start of a program, which should not wait for a store that does not answer.
constexpr int attempts = 3;

}  // namespace

std::vector<std::string> CloudStorage::sweep() {
  const std::lock_guard guard(mutex_);
  sweep_local_directories(bucket_->temporary, *bucket_->logger);
  RequestScope scope(nullptr);
  scope.attempts = attempts;
  const InRequestScope in_scope(scope);
  try {
    sweep_objects();
  } catch (const Error &error) {
    if (!is_passing(error.code)) throw;
    bucket_->logger->warning("cleaning up after checkpoints of killed processes: ", error.what());
  }
  return {unsettled_.begin(), unsettled_.end()};
}

void CloudStorage::sweep_objects() {
  const std::vector<Intent> intents = bucket_->intents.all();
  for (const Intent &intent : intents)
    if (!unsettled_.contains(intent.id) && intent.is_abandoned() && !intent.is_awaited())
      sweep_intent(intent);
  abort_orphaned_uploads(intents);
}

void CloudStorage::sweep_intent(const Intent &intent) {
  const bool is_visible = intent.purpose != Purpose::withdrawn &&
                          bucket_->store->find(bucket_->keys.manifest(intent.id)).has_value();
  if (intent.purpose == Purpose::removing && is_visible) {
    bucket_->intents.remove(intent.id);  // nothing of it has gone yet
  } else if (is_visible && intent.cluster_id.empty() && !cluster_id_.empty()) {
    bucket_->intents.remove(intent.id);  // saved without a master: there is none to tell
  } else if (intent.purpose == Purpose::withdrawn || is_visible) {
    // Of what another master knows only that one could tell.
    if (intent.cluster_id == cluster_id_) unsettled_.insert(intent.id);
  } else {
    // So that a rank of it that still sends something clears up after itself.
    bucket_->intents.put(intent.id, Purpose::removing, cluster_id_);
    discard_checkpoint(*bucket_, intent.id);
    bucket_->intents.remove(intent.id);
    bucket_->logger->info("removed what was left of checkpoint ", name_of(intent.id));
  }
}

void CloudStorage::abort_orphaned_uploads(const std::vector<Intent> &intents) try {
  const std::string &prefix = bucket_->keys.prefix();
  const int64_t now_ms = now_us() / 1000;
  for (const PendingUpload &pending : bucket_->store->list_uploads(prefix)) {
    const std::string id =
        pending.key.substr(prefix.size(), pending.key.find('/', prefix.size()) - prefix.size());
    const bool is_awaited = std::any_of(intents.begin(), intents.end(),
                                        [&](const Intent &one) { return one.id == id; });
    if (storage::is_storage_id(id) && !is_awaited && now_ms - pending.begun_ms > orphaned_after_ms)
      bucket_->store->abort_parts(pending.key, pending.upload);
  }
} catch (const Error &error) {
  // Who may not list them leaves them to the bucket's rules.
  if (error.code != Code::access) throw;
  bucket_->logger->debug("looking for unfinished uploads: ", error.what());
}

void CloudStorage::reclaim() try {
  RequestScope scope(nullptr);
  scope.attempts = attempts;
  const InRequestScope in_scope(scope);
  reclaim_chunks(*bucket_);
} catch (const Error &error) {
  // Who may only read leaves it to the others.
  const LogLevel level = error.code == Code::access ? LogLevel::debug : LogLevel::warning;
  bucket_->logger->write(level, "removing chunks that no checkpoint has any more: ", error.what());
}

void CloudStorage::settle(const std::string &id) {
  storage::check_storage_id(id);
  const std::lock_guard guard(mutex_);
  if (unsettled_.erase(id) == 0) return;
  // What is left of it, a later sweep removes.
  if (unfinished_.erase(id) > 0) bucket_->intents.put(id, Purpose::removing, cluster_id_);
  else bucket_->intents.remove(id);
}

}  // namespace det::cloud
