#include "core/master/rest/master_session.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/http/failure.h"

namespace det::master {

namespace {

// The answer that led here says what is wrong.
void try_quietly(const std::function<void()> &step) {
  try {
    step();
  } catch (const std::exception &) {
  }
}

}  // namespace

MasterSession::MasterSession(SessionOptions options, std::shared_ptr<Logger> logger)
    : url_(std::move(options.url)),
      limit_(options.limit),
      credential_(std::move(options.credential)),
      http_(std::move(options.http), std::move(logger)) {}

const codec::GetMaster::Response &MasterSession::master() {
  {
    const std::lock_guard lock(mutex_);
    if (master_) return *master_;
  }
  // The one call whose form is the same everywhere.
  constexpr codec::WireVersion any = codec::WireVersion::v0_38;
  const http::HttpResponse said =
      wait(begin(codec::write_request(codec::GetMaster{}, any), {}), {});
  if (said.status == 401 || said.status == 404)  // not by a master: that needs no login
    throw Error(Code::not_found,
                "asking which master this is (" + said.asked + "): it answered " +
                    std::to_string(said.status) +
                    ", so this address has no master; check host, port and the path before "
                    "/api/v1, which is the prefix of a proxy or none");
  codec::GetMaster::Response answer = read_as<codec::GetMaster>(said, any);
  const std::lock_guard lock(mutex_);
  if (!master_) master_ = std::move(answer);  // never changed again: references stay
  return *master_;
}

void MasterSession::use(Credential credential) {
  const std::lock_guard lock(mutex_);
  if (credential.kind != credential_.kind || credential.token != credential_.token)
    ++credential_number_;
  credential_ = std::move(credential);
}

bool may_work_later(const Error &error) {
  return error.code == Code::unavailable || error.code == Code::timeout ||
         error.code == Code::busy || error.http_status == 401;
}

Error as_passing(const Error &error) {
  return {may_work_later(error) ? error.code : Code::unavailable, error.what(), error.os_errno,
          error.http_status};
}

bool MasterSession::renew_credential(uint64_t refused) {
  // Who renews asks the master meanwhile, and cannot wait for itself.
  if (!renew_ || renewer_ == std::this_thread::get_id()) return false;
  const std::lock_guard lock(renewing_);
  if (credential_number() == refused) try_quietly(look_);
  const auto now = std::chrono::steady_clock::now();
  if (credential_number() == refused &&
      (!last_renewal_ || now - *last_renewal_ >= std::chrono::minutes(1))) {
    last_renewal_ = now;
    renewer_ = std::this_thread::get_id();
    try_quietly(renew_);
    renewer_ = std::thread::id();
  }
  return credential_number() != refused;
}

http::HttpResponse MasterSession::wait(http::HttpCall call, const CallOptions &options) const {
  const std::optional<std::chrono::milliseconds> limit = options.limit ? options.limit : limit_;
  if (limit && !call.wait_for(*limit)) {
    call.cancel();
    throw Error(Code::timeout,
                "asking the master: no answer within " + std::to_string(limit->count()) + " ms");
  }
  return call.wait();
}

http::HttpCall MasterSession::begin(codec::WireRequest request, const CallOptions &options) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(24);
  const http::Replay usual = request.method == "GET" ? http::Replay::safe : http::Replay::unsent;
  http::HttpRequest http{
      .method = std::move(request.method),
      .url = url_ + request.path + (request.query.empty() ? "" : "?" + request.query),
      .body = std::move(request.body),
      .replay = options.replay.value_or(usual),
      .timeout = limit_ ? std::clamp(*limit_, options.timeout, longest) : options.timeout};
  if (!http.body.empty()) http.headers.push_back({"Content-Type", "application/json"});
  {
    const std::lock_guard lock(mutex_);
    if (credential_.kind == Credential::Kind::user)
      http.headers.push_back({"Authorization", "Bearer " + credential_.token});
    if (credential_.kind == Credential::Kind::task)
      http.headers.push_back({"Grpc-Metadata-x-allocation-token", "Bearer " + credential_.token});
  }
  return http_.send(std::move(http));
}

void MasterSession::check_redirect(const http::HttpResponse &answer) {
  if (answer.status >= 300 && answer.status < 400) throw http::response_error(answer, "");
}

Error MasterSession::named(const Error &error, const http::HttpResponse &answer) {
  const std::string what = error.what();
  return {error.code,
          what.find(answer.asked) != what.npos ? what : what + " (" + answer.asked + ")",
          error.os_errno, error.http_status};
}

}  // namespace det::master
