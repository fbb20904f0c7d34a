#include "core/cloud/store_refusal.h"

#include <algorithm>

#include "core/base/text/printable.h"

namespace det::cloud {

namespace {

using Again = Refusal::Again;

// What follows the first line are ids and times. A full stop would end our sentence too early.
std::string first_line(const std::string &text) {
  constexpr size_t longest = 300;
  const std::string line = text.substr(0, std::min(longest, text.find_first_of("\r\n")));
  return printable(line.substr(0, line.find_last_not_of(". ") + 1));
}

}  // namespace

RefusalClass class_of_status(int status) {
  switch (status) {
    case 400:
      return {"", Code::invalid, Again::no};
    case 401:
    case 403:
      return {"", Code::access, Again::renewed};
    case 404:
      return {"", Code::not_found, Again::no};
    case 405:
    case 501:
      return {"", Code::unsupported, Again::no};
    case 408:
      return {"", Code::timeout, Again::soon};
    case 409:
    case 412:
      return {"", Code::conflict, Again::no};
    case 429:
    case 503:
      return {"", Code::busy, Again::throttled};
    case 507:
      return {"", Code::full, Again::no, "make room in the store"};
    default:
      if (status >= 500) return {"", Code::unavailable, Again::soon};
      return {"", Code::http, Again::no};
  }
}

std::string refusal_reason(const std::string &store_code, const std::string &message, int status) {
  std::string reason = "the store answered " + std::to_string(status);
  if (!store_code.empty()) reason += " " + first_line(store_code);
  if (!message.empty()) reason += ": " + first_line(message);
  return reason;
}

}  // namespace det::cloud
