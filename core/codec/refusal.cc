#include "core/codec/refusal.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/json.h"
#include "core/base/text/utf8.h"

namespace det::codec {

namespace {

struct Meaning {
  Code code;
  int http_status;
  int grpc;
  const char *reason;
};

// Read by status, from the top; written by code, from the top.
constexpr std::array meanings{
    Meaning{Code::invalid, 400, 3, "InvalidArgument"},
    Meaning{Code::access, 401, 16, "Unauthenticated"},
    Meaning{Code::access, 403, 7, "PermissionDenied"},
    Meaning{Code::not_found, 404, 5, "NotFound"},
    Meaning{Code::timeout, 408, 1, "Canceled"},
    Meaning{Code::conflict, 409, 10, "Aborted"},
    Meaning{Code::invalid, 413, 8, "ResourceExhausted"},
    Meaning{Code::busy, 429, 8, "ResourceExhausted"},
    Meaning{Code::state, 500, 13, "Internal"},
    Meaning{Code::unsupported, 501, 12, "Unimplemented"},
    Meaning{Code::unavailable, 502, 14, "Unavailable"},
    Meaning{Code::unavailable, 503, 14, "Unavailable"},
    Meaning{Code::timeout, 504, 4, "DeadlineExceeded"},
};
constexpr int failed_precondition = 9;
constexpr size_t longest = 300;

std::string text_of(const Json &object, const char *key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const char *remedy(int http_status) {
  if (http_status == 401) return "; run `det login`, or check the token";
  if (http_status == 403) return "; ask the owner or an administrator for the permission";
  if (http_status == 501) return "; check the master's address and version";
  return "";
}

bool is_of_token(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-._~+/=").find(c) != std::string_view::npos;
}

void mask_tokens(std::string &text) {
  for (const std::string_view start : {"Bearer ", "v1.", "v2.", "v3.", "v4.", "eyJ"}) {
    for (size_t at = 0; (at = text.find(start, at)) != text.npos;) {
      at += start.ends_with(' ') ? start.size() : 0;
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
      const auto length =
          static_cast<size_t>(std::find_if_not(from, text.end(), is_of_token) - from);
      const bool is_token = start.ends_with(' ') || length > 20;
      if (is_token) text.replace(at, length, "***");
      at += is_token ? 3 : start.size();
    }
  }
}

}  // namespace

std::string for_people(std::string_view text) {
  std::string line(text.substr(0, 4 * longest));
  mask_tokens(line);
  for (char &c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  if (line.size() > longest) {
    line.resize(longest);
    while (!line.empty() && (line.back() & '\xc0') == '\x80') line.pop_back();
    line += "...";
  }
  if (!is_utf8(line))
    for (char &c : line)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return line;
}

Refusal read_refusal(const WireResponse &answer) {
  Refusal refusal{answer.status, 0, "", for_people(answer.body)};
  Json body;
  try {
    body = parse_json_object(answer.body, "a refusal");
  } catch (const Error &) {
    return refusal;
  }
  const auto inner = body.find("error");
  const Json &error = inner != body.end() && inner->is_object() ? *inner : body;
  const auto code = error.find("code");
  if (code != error.end() && code->is_number_integer()) refusal.code = code->get<int>();
  refusal.reason = for_people(text_of(error, "reason"));
  for (const std::string &text :
       {text_of(body, "message"), text_of(error, "message"), text_of(error, "error")})
    if (!text.empty()) {
      refusal.message = for_people(text);
      break;
    }
  return refusal;
}

void throw_refusal(const std::string &what, const Refusal &refusal) {
  const int status = refusal.http_status;
  const auto *found = std::ranges::find(meanings, status, &Meaning::http_status);
  Code code = status >= 500 ? Code::unavailable : status >= 400 ? Code::invalid : Code::unsupported;
  if (found != meanings.end()) code = found->code;
  if (refusal.code == failed_precondition) code = Code::state;
  throw Error(code,
              what + ": the master answered " + std::to_string(status) +
                  (refusal.reason.empty() ? "" : " " + refusal.reason) +
                  (refusal.message.empty() ? "" : ": " + refusal.message) + remedy(status),
              0, status);
}

WireResponse write_refusal(const Error &error, bool is_plain) {
  const auto *found = error.http_status != 0
                          ? std::ranges::find(meanings, error.http_status, &Meaning::http_status)
                          : std::ranges::find(meanings, error.code, &Meaning::code);
  if (found == meanings.end()) found = std::ranges::find(meanings, 500, &Meaning::http_status);
  const std::string message = for_people(error.what());
  const Json body =
      is_plain
          ? Json{{"message", message}}
          : Json{{"error", {{"code", found->grpc}, {"reason", found->reason}, {"error", message}}}};
  return {found->http_status, to_wire(body)};
}

}  // namespace det::codec
