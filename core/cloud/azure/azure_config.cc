#include "core/cloud/azure/azure_config.h"

#include "core/base/base64.h"
#include "core/base/environment.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/cloud/azure/connection_string.h"
#include "core/cloud/storage_fields.h"

namespace det::cloud {

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
