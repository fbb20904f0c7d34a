#include "core/cloud/s3/s3_endpoint.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/cloud/url_host.h"

namespace det::cloud {

namespace {

std::string checked_endpoint(std::string url) {
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  // A user and a password would be repeated in messages.
  if (!url.empty() && (!is_http || url.find_first_of("?#@ ") != url.npos))
    throw Error(
        Code::invalid,
        "reading checkpoint_storage: the endpoint of S3 (endpoint_url, AWS_ENDPOINT_URL_S3) "
        "must be like https://host:port, without user, password and query");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// In the host's name a dot would not fit the certificate *.s3.amazonaws.com, and capitals, which
// very old buckets have, would be lost.
bool fits_host(const S3Options &options) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return std::all_of(options.bucket.begin(), options.bucket.end(), fits);
}

bool is_in_host(const S3Options &options) {
  using Addressing = S3Options::Addressing;
  if (options.addressing != Addressing::automatic)
    return options.addressing == Addressing::virtual_host;
  return options.endpoint_url.empty() && fits_host(options);
}

// Of the partition of AWS that the region is in.
std::string suffix_of(const std::string &region) {
  if (region.starts_with("cn-")) return "amazonaws.com.cn";
  if (region.starts_with("us-iso-")) return "c2s.ic.gov";
  if (region.starts_with("us-isob-")) return "sc2s.sgov.gov";
  return "amazonaws.com";
}

// It becomes a part of the host's name, and answers may come from anywhere.
bool is_region(const std::string &name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

S3Endpoint::S3Endpoint(const S3Options &options)
    : bucket_(options.bucket),
      custom_(checked_endpoint(options.endpoint_url)),
      in_host_(is_in_host(options)),
      is_local_(!in_host_ && is_loopback(host_of(custom_))),
      dualstack_(options.dualstack),
      fips_(options.fips),
      region_(options.region.empty() ? "us-east-1" : options.region) {
  if (custom_.empty() && !is_region(region_))
    throw Error(Code::invalid, "reading checkpoint_storage: '" + region_ +
                                   "' is no region; set one like us-east-1 (region, AWS_REGION)");
}

std::string S3Endpoint::region() const {
  const std::lock_guard lock(mutex_);
  return region_;
}

bool S3Endpoint::move_to(const std::string &region) {
  const std::lock_guard lock(mutex_);
  if (region == region_ || !is_region(region)) return false;
  region_ = region;
  return true;
}

std::string S3Endpoint::url(const std::string &path) const {
  std::string base = custom_;
  if (base.empty()) {
    const std::string region = this->region();
    base = std::string("https://s3") + (fips_ ? "-fips" : "") + (dualstack_ ? ".dualstack" : "") +
           "." + region + "." + suffix_of(region);
  }
  if (!in_host_) return base + "/" + bucket_ + path;
  return base.insert(base.find("://") + 3, bucket_ + ".") + path;
}

}  // namespace det::cloud
