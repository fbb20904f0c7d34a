// The connection strings of Azure's storage accounts.
#pragma once

#include <string>

namespace det::cloud {

struct ConnectionString {
  std::string endpoint;     // of blobs
  std::string account;      // empty: not said
  std::string account_key;  // base64, a secret; empty: not said
  std::string sas;          // a secret; empty: not said
};

// Throws Code::invalid, repeating no value of it.
ConnectionString parse_connection_string(const std::string &text);

}  // namespace det::cloud
