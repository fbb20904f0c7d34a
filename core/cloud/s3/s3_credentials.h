// Who asks S3: a pair of keys, for how long it is good, and the places where it may be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/cloud/refreshable.h"
#include "core/http/tls.h"

namespace det::cloud {

struct S3Options;

// Never logged, and part of no message but for where they came from.
struct Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // empty: they are not temporary
  std::string source;         // for messages: "the profile 'default' of /home/u/.aws/credentials"
};

// One of the places where credentials may be. Asked by one thread at a time.
class CredentialSource {
 public:
  using Lease = Refreshable<Credentials>::Lease;

  virtual ~CredentialSource() = default;
  // Nothing where this place has none. Throws where it should have some but cannot give them.
  virtual std::optional<Lease> load() = 0;
};

// The first place that has some is the one; its credentials are renewed before they end. Safe from
// any thread.
class CredentialChain {
 public:
  explicit CredentialChain(std::vector<std::unique_ptr<CredentialSource>> sources);

  // Blocks while new ones are asked for; throws Code::access where there are none.
  Credentials get();
  void drop() { credentials_.drop(); }  // a store took them no more

 private:
  CredentialSource::Lease load();

  const std::vector<std::unique_ptr<CredentialSource>> sources_;
  CredentialSource *found_in_ = nullptr;
  Refreshable<Credentials> credentials_;
};

// What sources need besides the environment and the files of AWS' tools.
struct CredentialSettings {
  std::string profile;  // by its name
  std::string region;   // of services that are asked
  http::TlsOptions tls{};
  std::shared_ptr<Logger> logger;
};

// Those of an S3 bucket; null where it is asked anonymously.
std::shared_ptr<CredentialChain> credential_chain(const S3Options &options,
                                                  const std::shared_ptr<Logger> &logger);

std::unique_ptr<CredentialSource> given_credentials(Credentials credentials);

// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
std::unique_ptr<CredentialSource> environment_credentials();

// A profile with role_arn: the role is taken on with the credentials of its source_profile or
// credential_source, or by its web_identity_token_file. `below` are the profiles that led to it.
std::unique_ptr<CredentialSource> role_credentials(CredentialSettings settings,
                                                   std::vector<std::string> below = {});

// AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN.
std::unique_ptr<CredentialSource> web_identity_credentials(CredentialSettings settings);

// A profile with sso_account_id and sso_role_name, after `aws sso login`.
std::unique_ptr<CredentialSource> sso_credentials(CredentialSettings settings);

// The keys of a profile; what is written there later is seen within two seconds.
std::unique_ptr<CredentialSource> shared_file_credentials(CredentialSettings settings);
std::unique_ptr<CredentialSource> config_file_credentials(CredentialSettings settings);

// A profile with credential_process.
std::unique_ptr<CredentialSource> process_credentials(CredentialSettings settings);

// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: ECS, EKS.
std::unique_ptr<CredentialSource> container_credentials(CredentialSettings settings);

// The role of an EC2 instance.
std::unique_ptr<CredentialSource> instance_credentials(CredentialSettings settings);

// How the keys of an answer in JSON are called there.
struct CredentialNames {
  const char *access_key, *secret_key, *session_token, *ends;
};

// Throws Code::access, without anything of the text, where they are not in it. An end in the past
// is refused too.
CredentialSource::Lease credentials_in(const std::string &text, const CredentialNames &names,
                                       const std::string &source);
CredentialSource::Lease credentials_in(const Json &answer, const CredentialNames &names,
                                       const std::string &source);

[[noreturn]] void refuse_aws_credentials(const std::string &source, const std::string &why);

}  // namespace det::cloud
