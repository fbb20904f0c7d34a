#include "core/cloud/s3/s3_credentials.h"

namespace det::cloud {

CredentialChain::CredentialChain(std::vector<std::unique_ptr<CredentialSource>> sources)
    : sources_(std::move(sources)), credentials_([this] { return load(); }) {}

Credentials CredentialChain::get() { return credentials_.get(); }

CredentialSource::Lease CredentialChain::load() {
  if (found_in_ != nullptr)
    if (auto lease = found_in_->load()) return *std::move(lease);
  for (const auto &source : sources_)
    if (auto lease = source->load()) {
      found_in_ = source.get();
      return *std::move(lease);
    }
  throw Error(Code::access,
              "looking for credentials of S3: there are none; set AWS_ACCESS_KEY_ID and "
              "AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or give access_key and "
              "secret_key in checkpoint_storage");
}

}  // namespace det::cloud
