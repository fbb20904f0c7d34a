// What is asked over HTTP, and what comes back.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace det::http {

// Whether a request may be sent again after an attempt that failed.
enum class Replay {
  never,   // one attempt
  unsent,  // only while nothing of it has left this machine
  safe,    // also when it may have been received: the second one changes nothing
};

struct HttpHeader {
  std::string name, value;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http(s)://host[:port][/path][?query], without user and password
  std::vector<HttpHeader> headers{};  // never logged, never sent to another host than the URL's
  std::string body{};
  Replay replay = Replay::never;
  std::chrono::milliseconds connect_timeout{30'000};  // of each attempt
  std::chrono::milliseconds timeout{300'000};         // of each attempt, all of it; 0: none
};

// Of any status: a redirect is answered, not followed.
struct HttpAnswer {
  int status = 0;
  std::string body;  // decompressed
  std::string content_type;
  std::string location;  // where a redirect points to
  std::string asked;     // for messages: method and URL without its query
};

}  // namespace det::http
