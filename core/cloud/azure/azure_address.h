// Where a container of Azure Blob Storage lies.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace det::cloud
