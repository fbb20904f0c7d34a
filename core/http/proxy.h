#pragma once

#include <curl/curl.h>

#include <string>

namespace det::http {

// Which proxy stands before which master; empty: none.
struct ProxyOptions {
  std::string http;   // for http:// masters
  std::string https;  // for https:// masters
  std::string none;   // hosts reached directly, separated by commas; "*": all

  // The usual variables, in upper or lower case: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY.
  static ProxyOptions from_environment();

  void apply(CURL *handle, const std::string &url) const;
};

}  // namespace det::http
