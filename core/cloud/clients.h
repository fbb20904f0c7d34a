// The clients of one store: a single thread, which copies all bytes and encrypts them, carries less
// than a fast network does.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/log.h"
#include "core/http/http_client.h"

namespace det::cloud {

// Safe from any thread.
class Clients {
 public:
  Clients(http::HttpOptions options, std::shared_ptr<Logger> logger);

  // The one that has the least to do; another is made where all have enough. It counts as busy
  // until the pointer is let go of.
  std::shared_ptr<http::HttpClient> take();

 private:
  const http::HttpOptions options_;
  const std::shared_ptr<Logger> logger_;
  const size_t most_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<http::HttpClient>> clients_;
};

}  // namespace det::cloud
