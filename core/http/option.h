#pragma once

#include <curl/curl.h>

#include <string>

#include "core/base/error.h"

namespace det::http {

template <class Value>
void set_option(CURL *handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw Error(Code::no_memory, "preparing a request: no memory");
  if (code != CURLE_OK)
    throw Error(Code::unsupported, "preparing a request: libcurl refuses option " +
                                       std::to_string(option) + ": " + curl_easy_strerror(code) +
                                       "; libcurl 7.88 with OpenSSL is needed");
}

}  // namespace det::http
