#include "core/cloud/azure/azure_address.h"

#include <algorithm>

#include "core/base/error.h"

namespace det::cloud {

namespace {

[[noreturn]] void refuse_url(const std::string &why) {
  throw Error(Code::invalid, "reading checkpoint_storage of type azure: account_url " + why +
                                 "; expected https://ACCOUNT.blob.core.windows.net");
}

// Cuts the text up to the first of `separators` off `rest`; the separator stays.
std::string cut(std::string_view &rest, std::string_view separators) {
  const std::string part(rest.substr(0, rest.find_first_of(separators)));
  rest.remove_prefix(part.size());
  return part;
}

std::string first_segment(std::string_view &path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return cut(path, "/");
}

// One host for all accounts: an address, or a name that no DNS knows.
bool has_account_in_path(const std::string &host) {
  const bool address =
      host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string::npos;
  return address || host.find('.') == std::string::npos || host.ends_with(".localhost");
}

}  // namespace

AzureAddress azure_address(const std::string &account_url) {
  std::string_view rest = account_url;
  const size_t scheme_end = rest.find("://");
  if (!rest.starts_with("https://") && !rest.starts_with("http://"))
    refuse_url("must begin with https://");
  rest.remove_prefix(scheme_end + 3);
  const std::string authority = cut(rest, "/?#");
  if (authority.empty() || authority.find('@') != authority.npos)
    refuse_url("must name a host, and no user");
  std::string_view path = rest.substr(0, rest.find_first_of("?#"));
  AzureAddress address;
  address.endpoint = account_url.substr(0, scheme_end + 3) + authority;
  const size_t query = rest.find('?');
  if (query != rest.npos) address.sas = rest.substr(query + 1, rest.find('#', query) - query - 1);
  const std::string host =
      authority.substr(0, authority.starts_with('[') ? authority.npos : authority.rfind(':'));
  if (has_account_in_path(host)) {
    address.account = first_segment(path);
    if (address.account.empty()) refuse_url("names no account after its host");
    address.endpoint += "/" + address.account;
  } else if (host.find(".blob.") != host.npos) {
    address.account = host.substr(0, host.find('.'));
  }
  constexpr std::string_view replica = "-secondary";
  if (address.account.ends_with(replica))
    address.account.resize(address.account.size() - replica.size());
  address.container = first_segment(path);
  for (std::string part = first_segment(path); !part.empty(); part = first_segment(path))
    address.folder += part + "/";
  return address;
}

// Base64, which keys are, has no '&' and '=' only at its end.
bool is_sas_token(std::string_view credential) {
  return credential.starts_with("?") || credential.starts_with("sig=") ||
         credential.find("&sig=") != credential.npos || credential.starts_with("sv=");
}

}  // namespace det::cloud
