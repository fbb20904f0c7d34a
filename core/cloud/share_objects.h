// What ranks finished, on its way to the one that commits, where no collective carries it: objects
// beside those of the checkpoint, which are no part of it and go with what is left of it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/base/wake.h"
#include "core/cloud/bucket.h"

namespace det::cloud {

// As storage::CheckpointWriter has them. By one thread.
class ShareObjects {
 public:
  ShareObjects(std::shared_ptr<const Bucket> bucket, const std::string &id);
  ~ShareObjects();

  // As long as this process lives and has not left it, the promise is renewed now and then, for an
  // owner on another machine, who sees nothing else of this process.
  void promise(int rank);
  void leave(int rank, const std::string &share);
  // Where it was promised and not left: nobody waits for it any more.
  void withdraw();
  std::optional<std::string> take(int rank);

  // Whether some promised theirs who may still leave it.
  bool are_awaited() const;
  void remove() const;

 private:
  std::string key_of(int rank) const { return root_ + std::to_string(rank); }
  std::string promise_of(int rank) const { return key_of(rank) + promise_ending; }
  void renew(int rank);
  void end_renewal();
  bool is_broken(int rank);

  static constexpr const char *promise_ending = ".promise";

  struct Seen {
    std::string promise;
    std::chrono::steady_clock::time_point since;
  };

  const std::shared_ptr<const Bucket> bucket_;
  const std::string root_;
  std::optional<int> promised_;  // and not left
  std::map<int, Seen> seen_;
  std::chrono::steady_clock::time_point looked_{};
  Wake end_;
  std::thread renewal_;
};

}  // namespace det::cloud
