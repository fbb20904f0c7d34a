#include "core/cloud/s3/sigv4.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/text/lower_case.h"
#include "core/cloud/digest.h"

namespace det::cloud {

namespace {

// What is signed of a URL.
struct SignedUrl {
  std::string host, path, query;
};

// The parameters in the order of their names, each with its '='.
std::string canonical_query(std::string_view query) {
  std::vector<std::string> parameters;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    const bool has_value = parameter.find('=') != parameter.npos;
    parameters.push_back(std::string(parameter) + (has_value ? "" : "="));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const std::string &parameter : parameters) out += (out.empty() ? "" : "&") + parameter;
  return out;
}

// libcurl leaves out the port that the scheme has anyway.
std::string host_header(std::string_view authority, bool tls) {
  const std::string_view usual = tls ? ":443" : ":80";
  if (authority.ends_with(usual)) authority.remove_suffix(usual.size());
  return std::string(authority);
}

SignedUrl signed_url(std::string_view url) {
  const size_t scheme_end = url.find("://");
  const size_t begin = scheme_end == url.npos ? 0 : scheme_end + 3;
  const size_t authority_end = std::min(url.find_first_of("/?", begin), url.size());
  const size_t path_end = std::min(url.find('?', begin), url.size());
  SignedUrl parts;
  parts.host = host_header(url.substr(begin, authority_end - begin), url.starts_with("https:"));
  parts.path =
      authority_end == path_end ? "/" : url.substr(authority_end, path_end - authority_end);
  if (path_end < url.size()) parts.query = canonical_query(url.substr(path_end + 1));
  return parts;
}

// "20130524T000000Z"
std::string stamp(std::time_t now) {
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc)};
}

}  // namespace

void SigV4::sign(http::HttpRequest &request, const Credentials &credentials,
                 const std::string &region, std::time_t now, const std::string &payload) {
  const std::string time = stamp(now), day = time.substr(0, 8);
  request.headers.push_back({"x-amz-date", time});
  if (!credentials.session_token.empty())
    request.headers.push_back({"x-amz-security-token", credentials.session_token});

  const SignedUrl url = signed_url(request.url);
  std::map<std::string, std::string> headers{{"host", url.host}};
  for (const http::HttpHeader &header : request.headers)
    headers.emplace(lower_case(header.name), header.value);
  std::string names, lines;
  for (const auto &[name, value] : headers) {
    names += (names.empty() ? "" : ";") + name;
    lines += name + ":" + value + "\n";
  }
  const std::string asked = request.method + "\n" + url.path + "\n" + url.query + "\n" + lines +
                            "\n" + names + "\n" + payload;
  const std::string scope = day + "/" + region + "/" + service_ + "/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + to_hex(sha256(asked));
  const std::string signature = to_hex(hmac_sha256(key_of(credentials, region, day), to_sign));
  request.headers.push_back(
      {"Authorization", "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + "/" + scope +
                            ", SignedHeaders=" + names + ", Signature=" + signature});
}

std::string SigV4::key_of(const Credentials &credentials, const std::string &region,
                          const std::string &day) {
  const std::string made_of = day + "\n" + region + "\n" + credentials.secret_key;
  const std::lock_guard lock(mutex_);
  if (made_of_ != made_of) {
    std::string key = "AWS4" + credentials.secret_key;
    for (const std::string &part : {day, region, service_, std::string("aws4_request")})
      key = hmac_sha256(key, part);
    key_ = std::move(key);
    made_of_ = made_of;
  }
  return key_;
}

}  // namespace det::cloud
