#pragma once

#include <string>

#include "core/base/error.h"
#include "core/http/http_library.h"

// What libcurl has gained since 7.76: the library in use may know it though these headers do not,
// and the other way round.
#if !CURL_AT_LEAST_VERSION(7, 80, 0)
#define CURLOPT_PREREQFUNCTION static_cast<CURLoption>(CURLOPTTYPE_FUNCTIONPOINT + 312)
#define CURLOPT_PREREQDATA static_cast<CURLoption>(CURLOPTTYPE_OBJECTPOINT + 313)
#define CURL_PREREQFUNC_OK 0
#define CURL_PREREQFUNC_ABORT 1
#endif
#if !CURL_AT_LEAST_VERSION(7, 87, 0)
#define CURLOPT_QUICK_EXIT static_cast<CURLoption>(CURLOPTTYPE_LONG + 322)
#endif

namespace det::http {

// False where libcurl does not know the option.
template <class Value>
bool set_if_known(CURL *handle, CURLoption option, Value value) {
  const CURLcode code = curl().easy_setopt(handle, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw Error(Code::no_memory, "preparing a request: no memory");
  if (code != CURLE_OK && code != CURLE_UNKNOWN_OPTION)
    throw Error(Code::unsupported, "preparing a request: libcurl refuses option " +
                                       std::to_string(option) + ": " + curl().easy_strerror(code) +
                                       "; libcurl 7.76 with OpenSSL is needed");
  return code == CURLE_OK;
}

template <class Value>
void set_option(CURL *handle, CURLoption option, Value value) {
  if (!set_if_known(handle, option, value))
    throw Error(Code::unsupported, "preparing a request: libcurl does not know option " +
                                       std::to_string(option) + "; libcurl 7.76 is needed");
}

// What a transfer does without: the size of a buffer is refused while libcurl keeps one for the
// handle, as after a stream whose connection others still use.
inline void suggest_buffer_size(CURL *handle, CURLoption option, long size) {
  static_cast<void>(curl().easy_setopt(handle, option, size));
}

}  // namespace det::http
