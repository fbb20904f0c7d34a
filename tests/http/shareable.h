// Requests that share connections, with any libcurl.
#pragma once

#include <curl/curl.h>

#include "core/http/message.h"

namespace det::http {

// Before 7.80 libcurl only shares the connections of requests that it may send again.
inline Replay shareable() {
  const bool counts_sendings = curl_version_info(CURLVERSION_NOW)->version_num >= 0x075000;
  return counts_sendings ? HttpRequest().replay : Replay::safe;
}

}  // namespace det::http
