#include "core/http/transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/http/failure.h"
#include "core/http/option.h"

namespace det::http {

namespace {

curl_socket_t open_socket(void *, curlsocktype, curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// A child that was forked meanwhile holds the socket too: only this ends it for the server.
int close_socket(void *, curl_socket_t socket) {
  shutdown(socket, SHUT_RDWR);
  return close(socket);
}

void append(std::unique_ptr<curl_slist, CurlFree> &list, const std::string &line) {
  curl_slist *longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

bool names_content_type(const HttpHeader &header) {
  return curl_strequal(header.name.c_str(), "content-type") != 0;
}

long status_of(CURL *handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::string text_of(CURL *handle, CURLINFO info) {
  const char *text = nullptr;
  return curl_easy_getinfo(handle, info, &text) == CURLE_OK && text != nullptr ? text : "";
}

}  // namespace

Transfer::Transfer(Tls &tls, size_t answer_limit)
    : handle_(curl_easy_init()), answer_limit_(answer_limit) {
  CURL *handle = handle_.get();
  if (handle == nullptr) throw std::bad_alloc();
  set_option(handle, CURLOPT_NOSIGNAL, 1L);
  set_if_known(handle, CURLOPT_QUICK_EXIT, 1L);  // a cancelled request needs no resolver any more
  set_option(handle, CURLOPT_ERRORBUFFER, detail_);
  set_option(handle, CURLOPT_PRIVATE, this);
  set_option(handle, CURLOPT_USERAGENT, "detcore/" DET_CORE_VERSION);
  set_option(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set_option(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set_option(handle, CURLOPT_ACCEPT_ENCODING, "gzip");
  set_option(handle, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  set_option(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  set_option(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set_option(handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  counts_sendings_ = set_if_known(handle, CURLOPT_PREREQFUNCTION, begin_sending) &&
                     set_if_known(handle, CURLOPT_PREREQDATA, this);
  set_option(handle, CURLOPT_WRITEFUNCTION, receive);
  set_option(handle, CURLOPT_WRITEDATA, this);
  tls.apply(handle);
}

void Transfer::prepare(const HttpRequest &request, const ProxyOptions &proxy) {
  CURL *handle = handle_.get();
  detail_[0] = '\0';
  body_.clear();
  too_large_ = false;
  sendings_ = 0;
  may_resend_ = request.replay == Replay::safe;

  headers_.reset();
  append(headers_, "Expect:");  // no round trip of its own before a large body
  for (const HttpHeader &header : request.headers)
    append(headers_, header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  // Else libcurl calls every body a form.
  if (std::none_of(request.headers.begin(), request.headers.end(), names_content_type))
    append(headers_, "Content-Type:");
  set_option(handle, CURLOPT_HTTPHEADER, headers_.get());

  set_option(handle, CURLOPT_URL, request.url.c_str());
  proxy.apply(handle, request.url);
  // Streams of one connection instead of many, where the first one is not known yet.
  set_option(handle, CURLOPT_PIPEWAIT, request.url.starts_with("https:") ? 1L : 0L);
  set_option(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  set_option(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  if (!counts_sendings_) be_alone(!may_resend_);
  const bool plain_get = request.method == "GET" && request.body.empty();
  if (plain_get) {
    set_option(handle, CURLOPT_HTTPGET, 1L);
  } else {
    set_option(handle, CURLOPT_POST, 1L);
    set_option(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set_option(handle, CURLOPT_POSTFIELDS, request.body.data());
  }
  set_option(handle, CURLOPT_CUSTOMREQUEST,
             plain_get || request.method == "POST" ? nullptr : request.method.c_str());
}

// On a connection that nobody had before, and that nobody joins, libcurl never sends again by
// itself.
void Transfer::be_alone(bool alone) {
  CURL *handle = handle_.get();
  set_option(handle, CURLOPT_FRESH_CONNECT, alone ? 1L : 0L);
  set_option(handle, CURLOPT_FORBID_REUSE, alone ? 1L : 0L);
  set_option(handle, CURLOPT_HTTP_VERSION,
             static_cast<long>(alone ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
}

// libcurl sends a request again by itself when a kept connection turns out to be closed, although
// the other side may have received the first one.
int Transfer::begin_sending(void *self, char *, char *, int, int) {
  auto &transfer = *static_cast<Transfer *>(self);
  if (transfer.sendings_ > 0 && !transfer.may_resend_) return CURL_PREREQFUNC_ABORT;
  ++transfer.sendings_;
  return CURL_PREREQFUNC_OK;
}

bool Transfer::sent() const {
  if (counts_sendings_) return sendings_ > 0;
  long bytes = 0;  // those that asked a proxy for the way are among them
  curl_easy_getinfo(handle(), CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0;
}

size_t Transfer::receive(char *bytes, size_t, size_t count, void *self) {
  auto &transfer = *static_cast<Transfer *>(self);
  transfer.too_large_ = count > transfer.answer_limit_ - transfer.body_.size();
  if (transfer.too_large_) return 0;
  try {
    transfer.body_.append(bytes, count);
  } catch (const std::exception &) {
    return 0;
  }
  return count;
}

Attempt Transfer::outcome(CURLcode code) const {
  Attempt attempt;
  attempt.sent = sent();
  if (code != CURLE_OK) {
    attempt.transient = is_transient(code);
    return attempt;
  }
  attempt.status = static_cast<int>(status_of(handle()));
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle(), CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) attempt.retry_after = std::chrono::seconds{std::min<curl_off_t>(seconds, 86400)};
  return attempt;
}

HttpAnswer Transfer::take_answer(const HttpRequest &request) {
  HttpAnswer answer;
  answer.status = static_cast<int>(status_of(handle()));
  answer.body = std::move(body_);
  answer.content_type = text_of(handle(), CURLINFO_CONTENT_TYPE);
  answer.location = text_of(handle(), CURLINFO_REDIRECT_URL);
  answer.asked = asked_of(request);
  body_ = {};
  return answer;
}

Error Transfer::failure(CURLcode code, const HttpRequest &request) const {
  std::string detail = detail_;
  if (too_large_) {
    code = CURLE_FILESIZE_EXCEEDED;
    detail = "the answer is larger than the " + std::to_string(answer_limit_) +
             " bytes allowed; ask for less at once";
  } else if (code == CURLE_ABORTED_BY_CALLBACK) {
    detail = "the connection was closed before an answer came";
  }
  // libcurl keeps that of an earlier attempt; where something was sent, none tells what happened.
  long os_errno = 0;
  if (!sent()) curl_easy_getinfo(handle(), CURLINFO_OS_ERRNO, &os_errno);
  return transfer_error(asked_of(request), code, detail, static_cast<int>(os_errno));
}

}  // namespace det::http
