// Services that give credentials: what is asked of them, and what they answer.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/log.h"
#include "core/cloud/s3/s3_credentials.h"
#include "core/http/http_client.h"

namespace det::cloud {

// How such a service is reached.
struct ServiceAccess {
  std::string name;  // for messages: "the metadata service of this machine"
  http::TlsOptions tls{};
  bool is_local = false;  // then no proxy is asked, and it answers at once or never
  int attempts = 3;
  std::chrono::milliseconds patience{10'000};  // of each
};

// Blocks. Gives answers of any status; throws Code::unavailable or Code::timeout without one.
http::HttpAnswer ask_service(const ServiceAccess &service, http::HttpRequest request,
                             const std::shared_ptr<Logger> &logger);

// How the keys of an answer in JSON are called there.
struct CredentialNames {
  const char *access_key, *secret_key, *session_token, *ends;
};
inline constexpr CredentialNames metadata_names{"AccessKeyId", "SecretAccessKey", "Token",
                                                "Expiration"};

// Throws Code::access, without anything of the text, where they are not in it. An end in the past
// is refused too.
CredentialSource::Lease credentials_in(const std::string &text, const CredentialNames &names,
                                       const std::string &source);
CredentialSource::Lease credentials_in(const Json &answer, const CredentialNames &names,
                                       const std::string &source);

[[noreturn]] void refuse_aws_credentials(const std::string &source, const std::string &why);

}  // namespace det::cloud
