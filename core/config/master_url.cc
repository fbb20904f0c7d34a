#include "core/config/master_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "core/base/error.h"
#include "core/base/text/lower_case.h"

namespace det::config {

namespace {

constexpr const char *remedy = "; give http://HOST:PORT or https://HOST:PORT";

bool is_host_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_visible(char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; }

// Takes the text up to the first of `ends` off the front.
std::string_view take_until(std::string_view &text, std::string_view ends) {
  const std::string_view part = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(part.size());
  return part;
}

// An IPv6 address between brackets, with its zone if it has one; empty for what is none.
std::string canonical_ipv6(std::string_view text) {
  const std::string_view zone = text.substr(std::min(text.find('%'), text.size()));
  const std::string address(text.substr(0, text.size() - zone.size()));
  in6_addr bytes{};
  std::array<char, INET6_ADDRSTRLEN> written{};
  if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return {};
  inet_ntop(AF_INET6, &bytes, written.data(), written.size());
  return "[" + std::string(written.data()) + std::string(zone) + "]";
}

// Takes the host off the front of what stands between "//" and the path; empty for what is none.
std::string take_host(std::string_view &authority) {
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == authority.npos) return {};
    const std::string_view inside = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
    return canonical_ipv6(inside);
  }
  const std::string_view host = take_until(authority, ":");
  return std::all_of(host.begin(), host.end(), is_host_character) ? lower_case(host) : "";
}

// ":443", "" or ":"; 0 counts as none. Gives -1 for what is none of them.
int port_from(std::string_view text, int fallback) {
  if (text.empty() || text == ":") return fallback;
  if (!text.starts_with(':')) return -1;
  text.remove_prefix(1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port > 65535) return -1;
  return port == 0 ? fallback : static_cast<int>(port);
}

}  // namespace

std::string canonical_master_url(const std::string &text, const std::string &origin) {
  const auto refuse = [&](const std::string &why) {
    throw Error(Code::invalid, "reading " + origin + ": " + why + remedy);
  };
  std::string_view rest = text;
  std::string scheme = "http";
  int port = 8080;
  if (const size_t end = text.find("://"); end < text.find_first_of("/?#@")) {
    scheme = lower_case(rest.substr(0, end));
    port = scheme == "https" ? 443 : 80;
    rest.remove_prefix(end + 3);
    if (scheme != "http" && scheme != "https") refuse("'" + scheme + "' is not spoken by a master");
  }

  std::string_view authority = take_until(rest, "/?#");
  if (const size_t at = authority.rfind('@'); at != authority.npos) {
    const std::string_view user = authority.substr(0, at);
    if (!user.empty() && user != ":")
      refuse("a user or password has no place in an address, log in with `det login`");
    authority.remove_prefix(at + 1);
  }
  const std::string shown = "'" + std::string(authority) + "'";
  const std::string host = authority.empty() ? "" : take_host(authority);
  if (host.empty()) refuse(shown + " names no host (IPv6 addresses stand in brackets)");
  port = port_from(authority, port);
  if (port < 0) refuse(shown + " has no port from 1 to 65535 behind the host");

  std::string_view path = take_until(rest, "?#");
  if (rest != "" && rest != "?" && rest != "#") refuse("an address has no query and no fragment");
  if (!std::all_of(path.begin(), path.end(), is_visible))
    refuse("the path holds blanks or control characters");
  while (path.ends_with('/')) path.remove_suffix(1);
  return scheme + "://" + host + ":" + std::to_string(port) + std::string(path);
}

}  // namespace det::config
