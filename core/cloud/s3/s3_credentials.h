// Who asks: a pair of keys, and for how long it is good.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cloud/renewed.h"

namespace det::cloud {

// Never logged, and part of no message but for where they came from.
struct Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // empty: they are not temporary
  std::string source;         // for messages: "the profile 'default' of /home/u/.aws/credentials"
};

// One of the places where credentials may be. Asked by one thread at a time.
class CredentialSource {
 public:
  using Lease = Renewed<Credentials>::Lease;

  virtual ~CredentialSource() = default;
  // Nothing where this place has none. Throws where it should have some but cannot give them.
  virtual std::optional<Lease> load() = 0;
};

// The first place that has some is the one; its credentials are renewed before they end. Safe from
// any thread.
class CredentialChain {
 public:
  explicit CredentialChain(std::vector<std::unique_ptr<CredentialSource>> sources);

  Credentials
  get();  // blocks while new ones are asked for; throws Code::access where there are none
  void drop() { credentials_.drop(); }  // a store took them no more

 private:
  CredentialSource::Lease load();

  const std::vector<std::unique_ptr<CredentialSource>> sources_;
  CredentialSource *found_in_ = nullptr;
  Renewed<Credentials> credentials_;
};

}  // namespace det::cloud
