// Calls to one master over HTTP: its address, who we are to it, and which form of the wire it
// speaks.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/base/log/log.h"
#include "core/codec/call.h"
#include "core/codec/identity.h"
#include "core/http/http_client.h"

namespace det::master {

// Never two at once: a master looks at one header only, and refuses a token in another's.
struct Credential {
  enum class Kind { none, user, task };

  Kind kind = Kind::none;
  std::string token = {};
};

struct SessionOptions {
  std::string url;  // canonical: no '/' at its end
  Credential credential = {};
  http::HttpOptions http = {};
  std::optional<std::chrono::milliseconds> limit = {};  // of calls that have none of their own
};

struct CallOptions {
  // None: safe for GET, which changes nothing, else only while the request was not sent.
  std::optional<http::Replay> replay = {};
  std::chrono::milliseconds timeout{60'000};            // of each attempt
  std::optional<std::chrono::milliseconds> limit = {};  // of all attempts; for ask(), call()
};

// What was sent and not answered may be sent again: the second one changes nothing.
inline constexpr CallOptions repeatable{.replay = http::Replay::safe};

// Whether what failed with it may work later, of itself or after a login.
bool may_work_later(const Error &error);

// Of an answer that is not final, whatever its status stands for otherwise: one that may work
// later.
Error as_passing(const Error &error);

// Any thread.
class MasterSession {
 public:
  MasterSession(SessionOptions options, std::shared_ptr<Logger> logger);

  const std::string &url() const { return url_; }

  // What the master says of itself: asked once, then remembered.
  const codec::GetMaster::Response &master();
  codec::WireVersion version() { return codec::wire_version(master().version); }

  template <class Call>
  http::HttpCall send(Call call, const CallOptions &options = {}) {
    return begin(codec::write_request(std::move(call), version()), options);
  }

  // Throws a refusal by the master, and an answer that is none, naming what was asked of whom.
  template <class Call>
  typename Call::Response read(const http::HttpResponse &answer) {
    return read_as<Call>(answer, version());
  }

  // The answer of any status, once more with another credential where this one is refused.
  template <class Call>
  http::HttpResponse ask(Call call, const CallOptions &options = {}) {
    const uint64_t shown = credential_number();
    http::HttpResponse answer = wait(send(call, options), options);
    if (answer.status != 401 || !renew_credential(shown)) return answer;
    return wait(send(std::move(call), options), options);
  }

  template <class Call>
  typename Call::Response call(Call call, const CallOptions &options = {}) {
    return read<Call>(ask(std::move(call), options));
  }

  // The answer of any status to what send() sent, within the limit.
  http::HttpResponse wait(http::HttpCall call, const CallOptions &options = {}) const;

  // For requests from now on.
  void use(Credential credential);

  // How to get another credential when the master no longer takes this one: both call use(), or
  // throw. `look`, whether there is one by now, asks no master. Before other threads use the
  // session.
  void renew_with(std::function<void()> look, std::function<void()> renew) {
    look_ = std::move(look);
    renew_ = std::move(renew);
  }

  // Which credential requests show now: each use() of another counts one.
  uint64_t credential_number() const { return credential_number_; }

  // Whether there is another one than the one of this number, which a master refused. Looks each
  // time and renews at most once a minute; others wait for who does. A call() asks by itself;
  // whoever reads an answer of 401 otherwise calls this before trying again.
  bool renew_credential(uint64_t refused);

  http::HttpClient &http() { return http_; }

 private:
  http::HttpCall begin(codec::WireRequest request, const CallOptions &options);

  template <class Call>
  static typename Call::Response read_as(const http::HttpResponse &answer,
                                         codec::WireVersion version) {
    try {
      check_redirect(answer);
      return codec::read_response<Call>({answer.status, answer.body}, version);
    } catch (const Error &error) {
      throw named(error, answer);
    }
  }
  static void check_redirect(const http::HttpResponse &answer);
  static Error named(const Error &error, const http::HttpResponse &answer);

  const std::string url_;
  const std::optional<std::chrono::milliseconds> limit_;
  std::mutex mutex_;  // of the two below
  Credential credential_;
  std::optional<codec::GetMaster::Response> master_;
  std::atomic<uint64_t> credential_number_{0};
  std::function<void()> look_, renew_;
  std::atomic<std::thread::id> renewer_;  // who holds the mutex below
  std::mutex renewing_;                   // of the one below
  std::optional<std::chrono::steady_clock::time_point> last_renewal_;
  http::HttpClient http_;
};

}  // namespace det::master
