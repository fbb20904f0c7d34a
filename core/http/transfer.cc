#include "core/http/transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/base/text/lower_case.h"
#include "core/http/failure.h"
#include "core/http/option.h"

namespace det::http {

namespace {

constexpr long bulk_buffer = 256L << 10;  // of a body that is streamed

curl_socket_t open_socket(void *, curlsocktype, curl_sockaddr *address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// A child that was forked meanwhile holds the socket too: only this ends it for the server.
int close_socket(void *, curl_socket_t socket) {
  shutdown(socket, SHUT_RDWR);
  return close(socket);
}

void append(std::unique_ptr<curl_slist, CurlFree> &list, const std::string &line) {
  curl_slist *longer = curl().slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

bool names_content_type(const HttpHeader &header) {
  return lower_case(header.name) == "content-type";
}

long status_of(CURL *handle) {
  long status = 0;
  curl().easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

bool is_success(long status) { return status >= 200 && status < 300; }

long version_of(const HttpOptions &options) {
  return options.http2 ? long{CURL_HTTP_VERSION_2TLS} : long{CURL_HTTP_VERSION_1_1};
}

std::string text_of(CURL *handle, CURLINFO info) {
  const char *text = nullptr;
  return curl().easy_getinfo(handle, info, &text) == CURLE_OK && text != nullptr ? text : "";
}

}  // namespace

Transfer::Transfer(Tls &tls, const HttpOptions &options)
    : handle_(curl().easy_init()), options_(options) {
  CURL *handle = handle_.get();
  if (handle == nullptr) throw std::bad_alloc();
  set_option(handle, CURLOPT_NOSIGNAL, 1L);
  set_if_known(handle, CURLOPT_QUICK_EXIT, 1L);  // a cancelled request needs no resolver any more
  set_option(handle, CURLOPT_ERRORBUFFER, detail_);
  set_option(handle, CURLOPT_PRIVATE, this);
  set_option(handle, CURLOPT_USERAGENT, "detcore/" DET_CORE_VERSION);
  set_option(handle, CURLOPT_HTTP_VERSION, version_of(options));
  set_option(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set_option(handle, CURLOPT_PATH_AS_IS, 1L);  // else ".." in the name of an object is resolved
  set_option(handle, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  set_option(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  set_option(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set_option(handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  counts_sendings_ = set_if_known(handle, CURLOPT_PREREQFUNCTION, begin_sending) &&
                     set_if_known(handle, CURLOPT_PREREQDATA, this);
  set_option(handle, CURLOPT_READFUNCTION, send);
  set_option(handle, CURLOPT_READDATA, this);
  set_option(handle, CURLOPT_SEEKFUNCTION, rewind);
  set_option(handle, CURLOPT_SEEKDATA, this);
  set_option(handle, CURLOPT_WRITEFUNCTION, receive);
  set_option(handle, CURLOPT_WRITEDATA, this);
  tls.apply(handle);
}

void Transfer::prepare(const HttpRequest &request) {
  CURL *handle = handle_.get();
  request_ = &request;
  detail_[0] = '\0';
  body_.clear();
  response_headers_.clear();
  headers_ended_ = false;
  into_sink_ = false;
  too_large_ = false;
  thrown_ = nullptr;
  sent_bytes_ = 0;
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
  // An empty text keeps libcurl from reading the environment on its thread, where the host's
  // setenv() would be a race.
  const ProxyOptions &proxy = options_.proxy;
  const bool is_https = request.url.starts_with("https:");
  set_option(handle, CURLOPT_PROXY, (is_https ? proxy.https : proxy.http).c_str());
  set_option(handle, CURLOPT_NOPROXY, proxy.none.c_str());
  // Streams of one connection instead of many, where the first one is not known yet.
  const bool share = options_.http2 && is_https;
  set_option(handle, CURLOPT_PIPEWAIT, share ? 1L : 0L);
  set_option(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  set_option(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  set_option(handle, CURLOPT_LOW_SPEED_LIMIT,
             static_cast<long>(request.rate_floor.bytes_per_second));
  set_option(handle, CURLOPT_LOW_SPEED_TIME,
             static_cast<long>(request.rate_floor.patience.count()));
  set_option(handle, CURLOPT_ACCEPT_ENCODING, request.compressed ? "gzip" : nullptr);
  set_option(handle, CURLOPT_HEADERFUNCTION, request.keep_headers ? receive_header : nullptr);
  set_option(handle, CURLOPT_HEADERDATA, request.keep_headers ? this : nullptr);
  if (!counts_sendings_) be_alone(!may_resend_);
  prepare_body(request);
}

void Transfer::prepare_body(const HttpRequest &request) {
  CURL *handle = handle_.get();
  const bool is_head = request.method == "HEAD";
  const bool plain_get = request.method == "GET" && request.body.empty() && !request.source;
  // These two make the method GET where they are taken back.
  set_option(handle, CURLOPT_NOBODY, is_head ? 1L : 0L);
  if (!is_head) set_option(handle, CURLOPT_UPLOAD, request.source ? 1L : 0L);
  suggest_buffer_size(handle, CURLOPT_BUFFERSIZE,
                      request.sink ? bulk_buffer : long{CURL_MAX_WRITE_SIZE});
  if (request.source) {
    suggest_buffer_size(handle, CURLOPT_UPLOAD_BUFFERSIZE, bulk_buffer);
    set_option(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.source->size()));
  } else if (plain_get) {
    set_option(handle, CURLOPT_HTTPGET, 1L);
  } else if (!is_head) {
    set_option(handle, CURLOPT_POST, 1L);
    set_option(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set_option(handle, CURLOPT_POSTFIELDS, request.body.data());
  }
  const bool is_own_method = plain_get || is_head || (request.method == "POST" && !request.source);
  set_option(handle, CURLOPT_CUSTOMREQUEST, is_own_method ? nullptr : request.method.c_str());
}

// On a connection that nobody had before, and that nobody joins, libcurl never sends again by
// itself.
void Transfer::be_alone(bool alone) {
  CURL *handle = handle_.get();
  set_option(handle, CURLOPT_FRESH_CONNECT, alone ? 1L : 0L);
  set_option(handle, CURLOPT_FORBID_REUSE, alone ? 1L : 0L);
  set_option(handle, CURLOPT_HTTP_VERSION,
             alone ? long{CURL_HTTP_VERSION_1_1} : version_of(options_));
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
  curl().easy_getinfo(handle(), CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0;
}

// libcurl is C: what is thrown waits in the transfer until it has returned.
size_t Transfer::send(char *bytes, size_t, size_t room, void *self) {
  auto &transfer = *static_cast<Transfer *>(self);
  BodySource &source = *transfer.request_->source;
  try {
    const uint64_t left = source.size() - transfer.sent_bytes_;
    room = static_cast<size_t>(std::min<uint64_t>(room, left));
    const size_t count = room == 0 ? 0 : source.read(transfer.sent_bytes_, bytes, room);
    transfer.sent_bytes_ += count;
    return count;
  } catch (...) {
    transfer.thrown_ = std::current_exception();
    return CURL_READFUNC_ABORT;
  }
}

// Before it sends again by itself, on another connection.
int Transfer::rewind(void *self, curl_off_t offset, int) {
  static_cast<Transfer *>(self)->sent_bytes_ = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

size_t Transfer::receive(char *bytes, size_t, size_t count, void *self) {
  auto &transfer = *static_cast<Transfer *>(self);
  try {
    transfer.take_bytes(bytes, count);
    return count;
  } catch (const std::bad_alloc &) {
    return 0;
  } catch (...) {
    transfer.thrown_ = std::current_exception();
    return 0;
  }
}

void Transfer::take_bytes(const char *bytes, size_t count) {
  if (request_->sink && !into_sink_ && body_.empty() && is_success(status_of(handle()))) {
    request_->sink->begin();
    into_sink_ = true;
  }
  if (into_sink_) return request_->sink->write(bytes, count);
  too_large_ = count > options_.answer_limit - body_.size();
  if (too_large_) throw std::bad_alloc();
  body_.append(bytes, count);
}

size_t Transfer::receive_header(char *line, size_t, size_t count, void *self) {
  auto &transfer = *static_cast<Transfer *>(self);
  auto &headers = transfer.response_headers_;
  const std::string_view text(line, count);
  const size_t colon = text.find(':');
  try {
    if (text == "\r\n" || text == "\n") transfer.headers_ended_ = true;
    if (text.starts_with("HTTP/")) {
      headers.clear();  // those before were of an interim answer
      transfer.headers_ended_ = false;
    }
    if (colon == text.npos) return count;
    HttpHeader header{std::string(text.substr(0, colon)), ""};
    for (char &c : header.name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const size_t begin = text.find_first_not_of(" \t", colon + 1);
    const size_t end = text.find_last_not_of(" \t\r\n");
    if (begin <= end && begin != text.npos) header.value = text.substr(begin, end - begin + 1);
    headers.push_back(std::move(header));
    return count;
  } catch (const std::exception &) {
    return 0;
  }
}

// libcurl takes an answer for whole whose headers were cut off by the end of the connection, and
// which then has no body.
CURLcode Transfer::settled(CURLcode code) const {
  const bool cut = code == CURLE_OK && request_->keep_headers && !headers_ended_;
  return cut ? CURLE_PARTIAL_FILE : code;
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
  curl().easy_getinfo(handle(), CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) attempt.retry_after = std::chrono::seconds{std::min<curl_off_t>(seconds, 86400)};
  return attempt;
}

HttpResponse Transfer::take_response(const HttpRequest &request) {
  HttpResponse answer;
  answer.status = static_cast<int>(status_of(handle()));
  answer.body = std::move(body_);
  answer.content_type = text_of(handle(), CURLINFO_CONTENT_TYPE);
  answer.location = text_of(handle(), CURLINFO_REDIRECT_URL);
  answer.asked = asked_of(request);
  answer.headers = std::move(response_headers_);
  body_ = {};
  response_headers_ = {};
  return answer;
}

Error Transfer::failure(CURLcode code, const HttpRequest &request) const {
  if (thrown_) std::rethrow_exception(thrown_);
  std::string detail = detail_;
  if (too_large_) {
    code = CURLE_FILESIZE_EXCEEDED;
    detail = "the answer is larger than the " + std::to_string(options_.answer_limit) +
             " bytes allowed; ask for less at once";
  } else if (code == CURLE_ABORTED_BY_CALLBACK) {
    detail = "the connection was closed before an answer came";
  }
  // libcurl keeps that of an earlier attempt; where something was sent, none tells what happened.
  long os_errno = 0;
  if (!sent()) curl().easy_getinfo(handle(), CURLINFO_OS_ERRNO, &os_errno);
  return transfer_error(options_.peer, asked_of(request), code, detail, static_cast<int>(os_errno));
}

}  // namespace det::http
