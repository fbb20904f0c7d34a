// One attempt at a request: libcurl's easy handle and what it gathers.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/http/http_client.h"
#include "core/http/http_library.h"
#include "core/http/message.h"
#include "core/http/retry.h"
#include "core/http/tls.h"

namespace det::http {

// Frees what libcurl made.
struct CurlFree {
  void operator()(CURL *handle) const { curl().easy_cleanup(handle); }
  void operator()(curl_slist *list) const { curl().slist_free_all(list); }
};

// Can be used for one request after the other; keeps its handle, and with it TLS sessions.
class Transfer {
 public:
  // `options` must outlive it.
  Transfer(Tls &tls, const HttpOptions &options);
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;

  // `request` must outlive the attempt.
  void prepare(const HttpRequest &request);
  CURL *handle() const { return handle_.get(); }

  // What the attempt came to, for the calls below, where libcurl says `code`.
  CURLcode settled(CURLcode code) const;
  Attempt outcome(CURLcode code) const;
  HttpResponse take_response(const HttpRequest &request);  // after CURLE_OK
  Error failure(CURLcode code, const HttpRequest &request) const;

 private:
  void prepare_body(const HttpRequest &request);
  void be_alone(bool alone);
  static int begin_sending(void *self, char *, char *, int, int);
  bool sent() const;
  static size_t send(char *bytes, size_t, size_t room, void *self);
  static int rewind(void *self, curl_off_t offset, int);
  static size_t receive(char *bytes, size_t, size_t count, void *self);
  static size_t receive_header(char *line, size_t, size_t count, void *self);
  void take_bytes(const char *bytes, size_t count);

  std::unique_ptr<CURL, CurlFree> handle_;
  std::unique_ptr<curl_slist, CurlFree> headers_;
  char detail_[CURL_ERROR_SIZE] = {};
  const HttpOptions &options_;
  const HttpRequest *request_ = nullptr;
  uint64_t sent_bytes_ = 0;  // of the source
  bool into_sink_ = false;
  std::string body_;
  std::vector<HttpHeader> response_headers_;
  bool headers_ended_ = false;
  bool too_large_ = false;
  std::exception_ptr thrown_;  // in a call of libcurl's
  bool may_resend_ = false;
  bool counts_sendings_ = false;  // libcurl 7.80 says when one begins
  int sendings_ = 0;
};

}  // namespace det::http
