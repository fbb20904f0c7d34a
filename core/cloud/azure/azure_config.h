// What checkpoint_storage says of a container of Azure Blob Storage.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/cloud/azure/azure_address.h"
#include "core/http/tls.h"

namespace det::cloud {

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
