// What checkpoint_storage and the environment say of a bucket.
#pragma once

#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/http/tls.h"

namespace det::cloud {

struct S3Options {
  enum class Addressing { automatic, path, virtual_host };
  enum class Checksum { crc32c, md5 };

  std::string bucket;
  std::string endpoint_url;  // empty: AWS
  std::string region;        // empty: learned from the first answer
  Addressing addressing = Addressing::automatic;
  bool dualstack = false;
  bool fips = false;

  std::optional<Credentials> credentials{};  // explicit ones
  bool anonymous = false;                    // of buckets that everybody may read
  std::string profile;                       // empty: that of the environment

  Checksum checksum = Checksum::crc32c;
  std::optional<bool> sign_payload{};  // unless given: where TLS does not protect it
  bool requester_pays = false;
  std::string sse, sse_kms_key_id;
  std::string storage_class;
  http::TlsOptions tls{};

  // Throws Code::invalid, naming the key or the variable.
  static S3Options from(const Json &config, Logger &logger);
};

}  // namespace det::cloud
