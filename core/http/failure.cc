#include "core/http/failure.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "core/base/text/utf8.h"

namespace det::http {

namespace {

struct ErrorClass {
  Code code;
  std::string remedy;
};

ErrorClass class_of(CURLcode code, const Peer &peer) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::timeout, "; check that " + peer.name + " is running and not overloaded"};
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR:  // only where there is no room for the body
      return {Code::no_memory, ""};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {Code::unavailable, "; check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {Code::access, "; " + peer.trust_remedy};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return {Code::unavailable,
              "; " + peer.name + " does not answer there: check its address, port and http(s)"};
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_FILESIZE_EXCEEDED:
      return {Code::http, ""};
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ENGINE_INITFAILED:
      return {Code::internal, ""};
    default:
      return {Code::unavailable,
              "; check that " + peer.name + " is running and that its address is right"};
  }
}

ErrorClass class_of(int status) {
  switch (status) {
    case 400:
    case 422:
      return {Code::invalid, ""};
    case 401:
      return {Code::access, "; run `det login`, or check the token"};
    case 403:
      return {Code::access, "; ask for the permission, or log in as another user"};
    case 404:
      return {Code::not_found, ""};
    case 408:
    case 504:
      return {Code::timeout, "; try again later"};
    case 409:
      return {Code::conflict, ""};
    case 413:
      return {Code::invalid, "; send less at once"};
    case 429:
      return {Code::busy, "; try again later"};
    case 501:
      return {Code::unsupported, "; this master does not know that request: check its version"};
    case 502:
    case 503:
      return {Code::unavailable, "; try again later"};
    default:
      if (status >= 300 && status < 400)
        return {Code::unsupported,
                "; redirects are not followed: give that address as the master's"};
      return {status >= 400 && status < 500 ? Code::invalid : Code::http, ""};
  }
}

// Texts from outside must not break the one line of a message, swamp it, or show a token in it.
std::string tamed(std::string text) {
  constexpr size_t most = 300;
  constexpr std::string_view bearer = "Bearer ";
  for (size_t at = 0; (at = text.find(bearer, at)) != text.npos; at += bearer.size()) {
    const size_t begin = at + bearer.size();
    const size_t end = std::min(text.find_first_of(" \t\r\n\"',;", begin), text.size());
    text.replace(begin, end - begin, "***");
  }
  const bool readable = is_utf8(text);
  for (char &c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
    else if (byte >= 0x80 && !readable) c = '?';
  }
  if (text.size() > most) {
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  return text;
}

std::string without_query(const std::string &url) { return url.substr(0, url.find_first_of("?#")); }

[[noreturn]] void refuse(const std::string &why) {
  throw Error(Code::invalid, "preparing a request: " + why);
}

bool is_token(const std::string &text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c < 0x7f && c != ':';
  });
}

// Whether it went well; a lack of memory says nothing of the URL.
bool is_ok(CURLUcode code) {
  if (code == CURLUE_OUT_OF_MEMORY) throw Error(Code::no_memory, "preparing a request: no memory");
  return code == CURLUE_OK;
}

bool has_part(CURLU *url, CURLUPart part) {
  char *text = nullptr;
  const CURLUcode code = curl().url_get(url, part, &text, 0);
  curl().free(text);
  return is_ok(code);
}

}  // namespace

std::string asked_of(const HttpRequest &request) {
  return request.method + " " + without_query(request.url);
}

void check_request(const HttpRequest &request) {
  const std::unique_ptr<CURLU, void (*)(CURLU *)> url(curl().url(), curl().url_cleanup);
  if (!url) is_ok(CURLUE_OUT_OF_MEMORY);
  if (!request.url.starts_with("http://") && !request.url.starts_with("https://"))
    refuse("its URL must begin with http:// or https://");
  // Neither text may be repeated: where parsing fails there may be a password in it.
  if (request.url.find('\0') != std::string::npos ||
      !is_ok(curl().url_set(url.get(), CURLUPART_URL, request.url.c_str(), 0)))
    refuse("its URL is malformed; expected http(s)://host[:port][/path]");
  if (has_part(url.get(), CURLUPART_USER) || has_part(url.get(), CURLUPART_PASSWORD))
    refuse("its URL holds a user or password; take them out and log in instead");
  if (!is_token(request.method)) refuse("its method is malformed");
  for (const auto &[name, value] : request.headers) {
    if (!is_token(name)) refuse("the name of a header is malformed");
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      refuse("the value of header " + name + " holds a line break or NUL");
  }
}

bool is_transient(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

Error transfer_error(const Peer &peer, const std::string &asked, CURLcode code,
                     const std::string &detail, int os_errno) {
  const ErrorClass found = class_of(code, peer);
  return {found.code,
          "asking " + peer.name + " (" + asked +
              "): " + tamed(detail.empty() ? curl().easy_strerror(code) : detail) + found.remedy,
          os_errno};
}

Error response_error(const HttpResponse &answer, const std::string &reason) {
  const ErrorClass found = class_of(answer.status);
  std::string message =
      "asking the master (" + answer.asked + "): status " + std::to_string(answer.status);
  if (!reason.empty()) message += ": " + tamed(reason);
  // Where it points to may carry a secret in its query, or as user and password.
  if (!answer.location.empty() && answer.location.find('@') == std::string::npos)
    message += ", to " + tamed(without_query(answer.location));
  return {found.code, message + found.remedy, 0, answer.status};
}

}  // namespace det::http
