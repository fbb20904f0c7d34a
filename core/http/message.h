// What is asked over HTTP, and what comes back.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace det::http {

// Who is asked, for messages.
struct Peer {
  std::string name = "the master";
  // What to do where it cannot prove who it is.
  std::string trust_remedy =
      "give the master's certificate in DET_MASTER_CERT_FILE or with `det login --cert FILE`, and "
      "the name in it in DET_MASTER_CERT_NAME where it is not the host's";
};

// Whether a request may be sent again after an attempt that failed.
enum class Replay {
  never,   // one attempt
  unsent,  // only while nothing of it has left this machine
  safe,    // also when it may have been received: the second one changes nothing
};

struct HttpHeader {
  std::string name, value;
};

// A body that is read while it is sent, from any offset and again where that is needed. Called on
// the thread of the client; what it throws ends the request.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual uint64_t size() const = 0;
  // How many bytes it gave: from 1, at most `room` and what is left from `offset`.
  virtual size_t read(uint64_t offset, char *bytes, size_t room) = 0;
};

// Takes the body of an answer of success as it comes, on the thread of the client; what it throws
// ends the request.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual void begin() = 0;  // of each attempt's body: what came before is void
  virtual void write(const char *bytes, size_t count) = 0;
};

// An attempt that moves less than this for so long has stalled.
struct RateFloor {
  int bytes_per_second = 0;  // 0: none
  std::chrono::seconds patience{30};
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http(s)://host[:port][/path][?query], without user and password
  std::vector<HttpHeader> headers{};  // never logged, never sent to another host than the URL's
  std::string body{};
  std::shared_ptr<BodySource> source{};  // in place of `body`
  std::shared_ptr<BodySink> sink{};      // in place of the answer's body
  bool keep_headers = false;             // the answer has its headers
  bool compressed = true;                // the answer may come compressed
  Replay replay = Replay::never;
  std::chrono::milliseconds connect_timeout{30'000};  // of each attempt
  std::chrono::milliseconds timeout{300'000};         // of each attempt, all of it; 0: none
  RateFloor rate_floor{};
};

// Of any status: a redirect is answered, not followed.
struct HttpResponse {
  int status = 0;
  std::string body;  // decompressed
  std::string content_type;
  std::string location;               // where a redirect points to
  std::string asked;                  // for messages: method and URL without its query
  std::vector<HttpHeader> headers{};  // where asked for; the names in small letters

  // Empty where there is none of that name.
  std::string header(std::string_view name) const {
    for (const HttpHeader &header : headers)
      if (header.name == name) return header.value;
    return {};
  }
};

}  // namespace det::http
