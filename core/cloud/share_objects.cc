#include "core/cloud/share_objects.h"

#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/cloud/object_text.h"
#include "core/cloud/request_scope.h"
#include "core/storage/tree.h"

namespace det::cloud {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds renewed_every{30};
constexpr std::chrono::seconds looked_at_every{1};
// Longer than a store is out of reach without the saves of the others failing too.
constexpr std::chrono::minutes broken_after{10};

std::string promise_text(uint64_t number) {
  return to_wire(Json{{"owner", ProcessIdentity::current().to_json()}, {"number", number}}) + "\n";
}

// What cannot be understood is not a process that could be asked.
Liveness liveness_in(const std::string &promise) try {
  const Json json = parse_json_object(promise, "a promise");
  return liveness(ProcessIdentity::from_json(json.at("owner")));
} catch (const std::exception &) {
  return Liveness::unknown;
}

}  // namespace

ShareObjects::ShareObjects(std::shared_ptr<const Bucket> bucket, const std::string &id)
    : bucket_(std::move(bucket)),
      root_(bucket_->keys.checkpoint(id) + storage::shares_name + "/") {}

ShareObjects::~ShareObjects() { end_renewal(); }

void ShareObjects::promise(int rank) {
  write_object(*bucket_->store, promise_of(rank), promise_text(0));
  promised_ = rank;
  renewal_ = start_thread("det-share", [this, rank] { renew(rank); });
}

void ShareObjects::renew(int rank) {
  RequestScope scope(&end_);
  const InRequestScope in_scope(scope);
  for (uint64_t number = 1; scope.wait(renewed_every); ++number) try {
      write_object(*bucket_->store, promise_of(rank), promise_text(number));
    } catch (const std::exception &) {
      // The next one may come through.
    }
}

void ShareObjects::end_renewal() {
  if (!renewal_.joinable()) return;
  end_.set();
  renewal_.join();
}

void ShareObjects::leave(int rank, const std::string &share) {
  end_renewal();
  write_object(*bucket_->store, key_of(rank), share);
  promised_.reset();
}

void ShareObjects::withdraw() {
  end_renewal();
  if (promised_) bucket_->store->remove({promise_of(*promised_)});
  promised_.reset();
}

std::optional<std::string> ShareObjects::take(int rank) {
  std::optional<std::string> share = read_object(*bucket_->store, key_of(rank));
  if (share || steady_clock::now() - looked_ < looked_at_every) return share;
  looked_ = steady_clock::now();
  if (!is_broken(rank)) return std::nullopt;
  share = read_object(*bucket_->store, key_of(rank));  // it may have left it and ended in between
  if (!share)
    throw Error(Code::unavailable, "saving '" + bucket_->store->name_of(root_) + "': rank " +
                                       std::to_string(rank) +
                                       " ended before it had finished its part");
  return share;
}

// Of a process on another machine, by how long nothing was heard of it, on the clock of this one.
bool ShareObjects::is_broken(int rank) {
  const std::optional<std::string> promise = read_object(*bucket_->store, promise_of(rank));
  if (!promise) return true;  // withdrawn
  const Liveness alive = liveness_in(*promise);
  if (alive != Liveness::unknown) return alive == Liveness::dead;
  const auto now = steady_clock::now();
  Seen &seen = seen_.try_emplace(rank, Seen{*promise, now}).first->second;
  if (seen.promise != *promise) seen = {*promise, now};
  return now - seen.since > broken_after;
}

bool ShareObjects::are_awaited() const {
  std::set<std::string> keys;
  bucket_->store->list(root_, [&](const ObjectInfo &info) { keys.insert(info.key); });
  for (const std::string &key : keys) {
    const std::string share = key.substr(0, key.size() - std::string(promise_ending).size());
    if (!key.ends_with(promise_ending) || keys.contains(share)) continue;
    const std::string promise = read_object(*bucket_->store, key).value_or("");
    if (liveness_in(promise) != Liveness::dead) return true;
  }
  return false;
}

void ShareObjects::remove() const {
  std::vector<std::string> keys;
  bucket_->store->list(root_, [&](const ObjectInfo &info) { keys.push_back(info.key); });
  remove_objects(*bucket_, keys);
}

}  // namespace det::cloud
