#include "core/cloud/clients.h"

#include <algorithm>
#include <thread>

namespace det::cloud {

namespace {

constexpr unsigned most_clients = 4;
constexpr long enough = 4;  // requests, before another thread helps

// Those under way: their pointers are the only ones beside that of the list.
long load_of(const std::shared_ptr<http::HttpClient> &client) { return client.use_count() - 1; }

}  // namespace

Clients::Clients(http::HttpOptions options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      most_(std::clamp(std::thread::hardware_concurrency(), 1U, most_clients)) {
  clients_.push_back(std::make_shared<http::HttpClient>(options_, logger_));
}

std::shared_ptr<http::HttpClient> Clients::take() {
  const std::lock_guard lock(mutex_);
  const auto least =
      std::min_element(clients_.begin(), clients_.end(),
                       [](const auto &a, const auto &b) { return load_of(a) < load_of(b); });
  if (load_of(*least) < enough || clients_.size() == most_) return *least;
  try {
    clients_.push_back(std::make_shared<http::HttpClient>(options_, logger_));
    return clients_.back();
  } catch (const std::exception &) {
    return clients_.front();  // no thread, or no descriptor, is left: it goes without
  }
}

}  // namespace det::cloud
