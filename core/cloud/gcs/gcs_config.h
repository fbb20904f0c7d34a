// What checkpoint_storage says of a bucket of Google Cloud Storage.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/http/http_client.h"

namespace det::cloud {

struct GcsConfig {
  std::string bucket;
  std::string prefix;         // without '/' at its ends; what is not complete yet is kept below it
  std::string endpoint;       // "https://storage.googleapis.com"
  std::string universe;       // "googleapis.com"
  std::string user_project;   // whom the requests are billed to; empty: who owns the bucket
  std::string kms_key;        // the name of a key; empty: the bucket's
  std::string storage_class;  // empty: the bucket's
  bool anonymous = false;
  http::HttpOptions http;
};

// Throws Code::invalid, naming the key. Reads STORAGE_EMULATOR_HOST, which an endpoint of `config`
// overrides, and the variables of proxies.
GcsConfig gcs_config(const Json &config);

}  // namespace det::cloud
