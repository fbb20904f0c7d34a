#include "core/cloud/azure/azure_config.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/process/environment.h"
#include "core/base/text/base64.h"
#include "core/base/text/lower_case.h"
#include "core/cloud/storage_fields.h"

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

namespace {

// Of the emulator on this machine: every installation has them, they protect nothing.
constexpr const char *emulator_account = "devstoreaccount1";
constexpr const char *emulator_key =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

[[noreturn]] void refuse_connection(const std::string &why) {
  throw Error(Code::invalid, "reading connection_string of checkpoint_storage: " + why +
                                 "; copy it from the account's access keys");
}

std::map<std::string, std::string> settings_of(std::string_view rest) {
  std::map<std::string, std::string> settings;
  while (!rest.empty()) {
    const std::string_view setting = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(setting.size() + 1, rest.size()));
    const size_t equals = setting.find('=');
    if (setting.find_first_not_of(" \t\r\n") == setting.npos) continue;
    if (equals == setting.npos || equals == 0) refuse_connection("it is no list of NAME=VALUE;");
    settings[lower_case(std::string(setting.substr(0, equals)))] = setting.substr(equals + 1);
  }
  return settings;
}

}  // namespace

ConnectionString parse_connection_string(const std::string &text) {
  auto settings = settings_of(text);
  ConnectionString read{settings["blobendpoint"], settings["accountname"], settings["accountkey"],
                        settings["sharedaccesssignature"]};
  if (lower_case(settings["usedevelopmentstorage"]) == "true") {
    std::string host = settings["developmentstorageproxyuri"];
    while (host.ends_with('/')) host.pop_back();
    if (host.empty()) host = "http://127.0.0.1";
    return {host + ":10000/" + emulator_account, emulator_account, emulator_key, ""};
  }
  if (read.endpoint.empty()) {
    if (read.account.empty()) refuse_connection("it has neither AccountName nor BlobEndpoint");
    std::string protocol = lower_case(settings["defaultendpointsprotocol"]);
    std::string suffix = settings["endpointsuffix"];
    if (protocol.empty()) protocol = "https";
    if (suffix.empty()) suffix = "core.windows.net";
    if (protocol != "https" && protocol != "http")
      refuse_connection("its DefaultEndpointsProtocol is neither https nor http");
    read.endpoint = protocol + "://" + read.account + ".blob." + suffix;
  }
  if (!read.account_key.empty() && read.account.empty())
    refuse_connection("it has an AccountKey but no AccountName");
  return read;
}

namespace {

// What the tools of Azure are told, where it is of this account.
std::string credential_in_environment(const std::string &account) {
  if (const std::string text = environment_variable("AZURE_STORAGE_CONNECTION_STRING");
      !text.empty()) {
    const ConnectionString parts = parse_connection_string(text);
    if (!account.empty() && parts.account == account)
      return parts.account_key.empty() ? parts.sas : parts.account_key;
  }
  if (account.empty() || environment_variable("AZURE_STORAGE_ACCOUNT") != account) return {};
  const std::string key = environment_variable("AZURE_STORAGE_KEY");
  return key.empty() ? environment_variable("AZURE_STORAGE_SAS_TOKEN") : key;
}

void read_who_asks(const StorageFields &fields, AzureConfig &read) {
  const std::string connection = fields.text("connection_string");
  const std::string url = fields.text("account_url");
  std::string credential = fields.text("credential");
  if (connection.empty() == url.empty())
    fields.refuse("it needs exactly one of 'connection_string' and 'account_url'");
  if (!connection.empty()) {
    if (!credential.empty()) fields.refuse("'credential' goes with 'account_url' only");
    const ConnectionString parts = parse_connection_string(connection);
    read.address = azure_address(parts.endpoint);
    if (!parts.account.empty()) read.address.account = parts.account;
    credential = parts.account_key.empty() ? parts.sas : parts.account_key;
  } else {
    read.address = azure_address(url);
  }
  if (const std::string name = fields.text("account_name"); !name.empty())
    read.address.account = name;
  read.anonymous = fields.flag("anonymous").value_or(false);
  read.client_id = fields.text("client_id");
  if (credential.empty() && read.address.sas.empty() && !read.anonymous)
    credential = credential_in_environment(read.address.account);
  if (is_sas_token(credential)) {
    read.address.sas = credential.substr(credential.starts_with('?') ? 1 : 0);
  } else if (!credential.empty()) {
    const auto key = from_base64(credential);
    if (!key || key->empty())
      fields.refuse("the credential is neither a SAS token nor the key of an account");
    if (read.address.account.empty())
      fields.refuse(
          "which account the key belongs to does not follow from account_url: give "
          "'account_name'");
    read.account_key = *key;
    read.address.sas.clear();
  }
  if (read.anonymous) {
    read.account_key.clear();
    read.address.sas.clear();
  }
}

// "container/some/folder", or with a URL that names the container already, a folder in that.
void read_container(const StorageFields &fields, AzureConfig &read) {
  std::string path = fields.required_text("container") + "/";
  if (read.address.container.empty()) {
    const size_t end = path.find('/');
    read.address.container = path.substr(0, end);
    path.erase(0, end + 1);
    if (read.address.container.empty()) fields.refuse("'container' begins with '/'");
  } else {
    read.makes_container = false;
  }
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = path.find('/', begin);
    const std::string part = path.substr(begin, end - begin);
    if (part == "..") fields.refuse("'container' must not have '..' in it");
    if (!part.empty() && part != ".") read.address.folder += part + "/";
    begin = end + 1;
  }
}

}  // namespace

AzureConfig azure_config(const Json &config) {
  const StorageFields fields(
      config, {"container", "connection_string", "account_url", "credential", "account_name",
               "anonymous", "client_id", "access_tier", "encryption_scope", "customer_key"});
  AzureConfig read;
  read_who_asks(fields, read);
  read_container(fields, read);
  read.access_tier = fields.text("access_tier");
  read.encryption_scope = fields.text("encryption_scope");
  if (const std::string text = fields.text("customer_key"); !text.empty()) {
    read.customer_key = from_base64(text).value_or("");
    if (read.customer_key.size() != 32)
      fields.refuse("'customer_key' must be the base64 of 32 bytes (AES-256)");
    if (!read.encryption_scope.empty())
      fields.refuse("'customer_key' and 'encryption_scope' exclude each other");
  }
  read.tls = fields.tls();
  return read;
}

Json azure_without_credentials(Json config) {
  const AzureConfig read = azure_config(config);
  for (const char *key : {"connection_string", "credential", "customer_key"}) config.erase(key);
  const bool is_named = !read.makes_container;  // by the URL
  config["account_url"] =
      read.address.endpoint + (is_named ? "/" + read.address.container : std::string());
  return config;
}

}  // namespace det::cloud
