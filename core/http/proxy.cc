#include "core/http/proxy.h"

#include <initializer_list>

#include "core/base/environment.h"
#include "core/http/option.h"

namespace det::http {

namespace {

std::string first_of(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (std::string value = environment_variable(name); !value.empty()) return value;
  return "";
}

}  // namespace

ProxyOptions ProxyOptions::from_environment() {
  const std::string all = first_of({"all_proxy", "ALL_PROXY"});
  // In a CGI program HTTP_PROXY is whatever the browser sent as "Proxy:".
  const bool in_cgi = !environment_variable("REQUEST_METHOD").empty();
  ProxyOptions options;
  options.http = in_cgi ? first_of({"http_proxy"}) : first_of({"http_proxy", "HTTP_PROXY"});
  options.https = first_of({"https_proxy", "HTTPS_PROXY"});
  options.none = first_of({"no_proxy", "NO_PROXY"});
  if (options.http.empty()) options.http = all;
  if (options.https.empty()) options.https = all;
  return options;
}

void ProxyOptions::apply(CURL *handle, const std::string &url) const {
  // An empty text keeps libcurl from reading the environment on its thread, where the host's
  // setenv() would be a race.
  set_option(handle, CURLOPT_PROXY, (url.starts_with("https:") ? https : http).c_str());
  set_option(handle, CURLOPT_NOPROXY, none.c_str());
}

}  // namespace det::http
