// What checkpoint_storage says of a container of Azure Blob Storage.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json_fwd.h"
#include "core/http/tls.h"

namespace det::cloud {

struct AzureAddress {
  std::string endpoint;   // of the account: "https://name.blob.core.windows.net", no '/' at its end
  std::string account;    // empty: the endpoint does not say
  std::string container;  // empty: not named
  std::string folder;     // below the container, with '/' at its end; may be empty
  std::string sas;        // "sv=...&sig=...", a secret; may be empty
};

// Takes the URL of an account, or of a container in it, apart. Local servers have the account in
// the path: http://127.0.0.1:10000/devstoreaccount1. Throws Code::invalid without repeating the
// query.
AzureAddress azure_address(const std::string &account_url);

// Whether `credential` is a SAS token and not the key of an account.
bool is_sas_token(std::string_view credential);

// The connection strings of Azure's storage accounts.
struct ConnectionString {
  std::string endpoint;     // of blobs
  std::string account;      // empty: not said
  std::string account_key;  // base64, a secret; empty: not said
  std::string sas;          // a secret; empty: not said
};

// Throws Code::invalid, repeating no value of it.
ConnectionString parse_connection_string(const std::string &text);

struct AzureConfig {
  AzureAddress address;
  bool makes_container = true;  // unless the URL names it already

  // Who asks: the first of these that is given, else a token of what this machine is.
  bool anonymous = false;
  std::string account_key;  // bytes
  // address.sas
  std::string client_id;  // of a managed identity; empty: the machine's own

  std::string access_tier;       // of new blobs; empty: the account's
  std::string encryption_scope;  // empty: the container's
  std::string customer_key;      // bytes; empty: the service's own
  http::TlsOptions tls;
};

// Throws Code::invalid, without repeating a secret.
AzureConfig azure_config(const Json &config);

// The same container, by its URL, for who has credentials of his own: no secret is in it.
Json azure_without_credentials(Json config);

}  // namespace det::cloud
