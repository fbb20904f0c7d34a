// libcurl's multi interface over epoll: what a step costs depends on what happens, not on how much
// is under way.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/wake.h"

namespace det::http {

// Of one thread, but for wake().
class Multi {
 public:
  explicit Multi(size_t spare_connections);
  Multi(const Multi &) = delete;
  Multi &operator=(const Multi &) = delete;

  void add(CURL *handle);
  void remove(CURL *handle) noexcept;  // no connection stays behind where it is still under way

  // Waits until something happens, for at most `patience`, and carries on what can be.
  void step(std::chrono::milliseconds patience);
  void wake() const noexcept { wake_.set(); }  // ends the wait; any thread

  void close() { multi_.reset(); }  // and its connections; only wake() may follow

  // Calls `ended(handle, code)` for each that has ended; it may add and remove.
  template <class Ended>
  void collect(Ended ended) {
    int left = 0;
    while (const CURLMsg *message = curl_multi_info_read(multi_.get(), &left))
      ended(message->easy_handle, message->data.result);
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct MultiFree {
    void operator()(CURLM *multi) const { curl_multi_cleanup(multi); }
  };

  static int watch(CURL *, curl_socket_t socket, int events, void *self, void *known);
  static int set_timer(CURLM *, long patience, void *self);

  const Fd epoll_;
  const Wake wake_;
  std::vector<std::pair<int, uint32_t>> unwatched_;  // sockets, and the events wanted
  std::optional<Time> due_;  // when libcurl wants to be called without any event
  // The last, since it still watches when it closes its connections.
  std::unique_ptr<CURLM, MultiFree> multi_;
};

}  // namespace det::http
