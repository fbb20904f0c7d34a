#include "core/http/http_library.h"

extern "C" {
// What libdetcore-http shows.
[[gnu::visibility("default")]] extern const det::http::HttpLibrary det_http_library;
const det::http::HttpLibrary det_http_library{DET_HTTP_BUILD};
}

namespace det::http {

const HttpLibrary &http_library() { return det_http_library; }

}  // namespace det::http
