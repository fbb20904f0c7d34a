#include "core/http/date.h"

#include <curl/curl.h>

namespace det::http {

std::optional<int64_t> parse_date(const std::string &text) {
  const time_t time = curl_getdate(text.c_str(), nullptr);
  if (time == -1) return std::nullopt;
  return static_cast<int64_t>(time);
}

}  // namespace det::http
