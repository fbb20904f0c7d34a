#include "core/cloud/url_host.h"

#include <arpa/inet.h>

namespace det::cloud {

std::string host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.starts_with('[')) return std::string(url.substr(1, url.find(']') - 1));
  return std::string(url.substr(0, url.find(':')));
}

bool is_loopback(const std::string &host) {
  in_addr number{};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1)
    return ntohl(number.s_addr) >> 24U == IN_LOOPBACKNET;
  return host == "localhost" || host == "::1";
}

}  // namespace det::cloud
