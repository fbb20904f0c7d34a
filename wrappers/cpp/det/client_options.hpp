// The store or master of a client, and the part of a list.
#pragma once

#include <det/client.h>
#include <det/detail/handle.hpp>
#include <det/log.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace det {
inline namespace v1 {

// An empty member has the default that det_client_options names.
struct ClientOptions {
  std::string master;
  std::string user;
  std::optional<std::string> password;  // may be ""
  std::string token;
  std::string cert_file;
  Timeout timeout;

  LogCallback log;
  const LogQueue *log_queue = nullptr;
  LogLevel log_level = LogLevel::usual;
};

// The part of a list to return. See det_client_page.
struct Page {
  int64_t after = 0;  // the cursor "next" of the last answer
  int64_t limit = 0;
  bool descending = false;
  bool by_metric = false;
  std::string state;
  std::string name;
  std::string tag;
  enum class Archived : int32_t { without, only, with } archived = Archived::without;
  bool running = false;
};

namespace detail {

// Without the log callable.
inline det_client_options to_c(const ClientOptions &options) noexcept {
  det_client_options c_options = DET_CLIENT_OPTIONS_INIT;
  c_options.master = null_if_empty(options.master);
  c_options.user = null_if_empty(options.user);
  c_options.password = options.password ? options.password->c_str() : nullptr;
  c_options.token = null_if_empty(options.token);
  c_options.cert_file = null_if_empty(options.cert_file);
  c_options.timeout_ms = options.timeout.capi();
  c_options.log_queue = options.log_queue != nullptr ? options.log_queue->capi() : nullptr;
  c_options.log_level = static_cast<det_log_level>(options.log_level);
  return c_options;
}

inline det_client_page to_c(const Page &page) noexcept {
  det_client_page c_page = DET_CLIENT_PAGE_INIT;
  c_page.after = page.after;
  c_page.limit = page.limit;
  c_page.descending = page.descending ? 1 : 0;
  c_page.by_metric = page.by_metric ? 1 : 0;
  c_page.state = null_if_empty(page.state);
  c_page.name = null_if_empty(page.name);
  c_page.tag = null_if_empty(page.tag);
  c_page.archived = static_cast<int32_t>(page.archived);
  c_page.running = page.running ? 1 : 0;
  return c_page;
}

}  // namespace detail

}  // namespace v1
}  // namespace det
