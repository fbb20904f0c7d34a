#include "core/base/part.h"
#include "core/http/http_library.h"

namespace det::http {

const HttpLibrary &http_library() {
  static const auto &library = *static_cast<const HttpLibrary *>(
      open_part({"preparing a request", "libdetcore-http.so.0", "det_http_library", DET_HTTP_BUILD,
                 ", and libcurl 7.76 with OpenSSL (Debian and Ubuntu: libcurl4)"}));
  return library;
}

}  // namespace det::http
